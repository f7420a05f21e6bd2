// Ports, cables, addresses and subnets.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "design/views_common.h"
#include "inspect/describer.h"
#include "model/server_ports.h"

namespace weft::inspect {

namespace views = design::views;
using views::left;
using views::right;
using views::text_cell;

namespace {

// The NIC of a server's port, and the GPU that the port is nearest to.
void add_nic(const model::Cluster& cluster, model::PortId id, FactList& facts) {
  const model::Port& port = cluster.port(id);
  const model::DeviceGroup& group = cluster.group_of(port.device);
  if (group.kind != model::DeviceKind::server) return;
  const model::ServerModel& server = cluster.server_of(port.device);
  const model::PortUse use = group.manager && port.fabric != model::FabricKind::oob
                                 ? model::PortUse::backend
                                 : static_cast<model::PortUse>(port.fabric);
  const model::PortGroup* ports = model::port_group(server, use);
  if (ports == nullptr) return;
  if (ports->nic.has_value()) {
    const model::NicModel* nic = cluster.catalog().nic(*ports->nic);
    facts.add("nic", "NIC", nic != nullptr ? model_text(*nic) : *ports->nic);
  }
  facts.add("form", "Cage", model::text_of(*ports->form));
  const auto number = static_cast<std::size_t>((port.cage - model::first_cage(server, ports)) * *ports->per_cage);
  if (ports->gpus.has_value() && number < ports->gpus->size()) facts.add("gpu", "Nearest GPU", (*ports->gpus)[number]);
  if (ports->numa.has_value() && number < ports->numa->size()) facts.add("numa", "NUMA node", (*ports->numa)[number]);
}

std::string place_of(const model::Cluster& cluster, model::DeviceId id) {
  const std::string rack = views::rack_name(cluster, id);
  const std::string units = units_text(cluster, id);
  return units.empty() ? rack : rack + " " + units;
}

Cell speed_of(const model::Cluster& cluster, const model::Cable& cable) {
  return views::speed_cell(cluster.port(cable.a).speed());
}

}  // namespace

void Describer::add_port(model::PortId id, Document& document) {
  const model::Port& port = cluster_.port(id);
  const model::FabricPlan& plan = cluster_.fabric(port.fabric);
  const views::FabricSettings settings = views::settings_of(cluster_, port.fabric);
  FactList facts("port", "Port");
  facts.add("name", "Name", cluster_.full_port_name(id));
  facts.add("device", "Device", cluster_.name_of(port.device));
  facts.add("rack", "Location", text_cell(place_of(cluster_, port.device)));
  facts.add("fabric", "Fabric", model::to_text(port.fabric));
  const bool host = cluster_.group_of(port.device).kind == model::DeviceKind::server;
  const bool railed = port.fabric == model::FabricKind::backend || port.fabric == model::FabricKind::storage;
  facts.add("rail", "Rail", views::ordinal_cell(railed && host, port.rail));
  facts.add("plane", "Plane", views::ordinal_cell(plan.planes > 1, port.plane));
  facts.add("speed_bps", "Speed", views::speed_cell(port.speed()));
  facts.add("cage", "Cage number", std::int64_t{port.cage});
  facts.add("lane", "First lane", {std::int64_t{port.lane}, fmt::format("{} ({} wide)", port.lane, port.lanes)});
  add_nic(cluster_, id, facts);
  facts.add("address", "Address", views::address_cell(port.address));
  const Ipv6 ipv6 = cluster_.ipv6_of(id);
  facts.add("ipv6_address", "IPv6 address", ipv6 == Ipv6{} ? Cell() : Cell(weft::to_text(ipv6)));
  if (const model::SubnetId subnet_id = subnet_of(id); subnet_id != model::kNone<model::SubnetId>) {
    const model::Subnet& subnet = cluster_.subnet(subnet_id);
    facts.add("subnet", "Subnet", {subnet.name, fmt::format("{} ({})", subnet.name, weft::to_text(subnet.prefix))});
    facts.add("gateway", "Gateway", views::address_cell(subnet.gateway));
    facts.add("vlan", "VLAN", subnet.vlan > 0 ? Cell(std::int64_t{subnet.vlan}) : Cell());
  }
  facts.add("vrf", "VRF", text_cell(settings.vrf));
  facts.add("mtu_bytes", "MTU", settings.mtu ? Cell(*settings.mtu, fmt::format("{} bytes", *settings.mtu)) : Cell());
  const model::CableId cable = port.cable;
  if (cable == model::kNone<model::CableId>) {
    document.sections.emplace_back(facts.take_section());
    return;
  }
  const model::PortId peer = cluster_.peer_of(id);
  facts.add("peer", "Neighbor", cluster_.full_port_name(peer));
  facts.add("peer_rack", "Neighbor's location", text_cell(place_of(cluster_, cluster_.port(peer).device)));
  facts.add("direction", "Link", direction_of(cluster_, id));
  facts.add("cable", "Cable", labels_.label(cable));
  add_medium(cable, facts);
  facts.add("if_it_fails", "If its cable fails", impact({}, std::vector<model::CableId>{cable}));
  document.sections.emplace_back(facts.take_section());
  add_plugs(cable, document);
}

void Describer::add_medium(model::CableId id, FactList& facts) const {
  const model::Cable& cable = cluster_.cable(id);
  const model::Medium& medium = cluster_.media()[cable.medium];
  if (medium.cable != nullptr) {
    facts.add("medium", "Medium", model::text_of(*medium.cable->kind));
    facts.add("part", "Part", model_text(*medium.cable));
  }
  facts.add("length_m", "Length",
            {static_cast<double>(cable.length_mm) / 1000.0, weft::to_text(Length(cable.length_mm))});
  facts.add("a_transceiver", "Transceiver at A", medium.at_a != nullptr ? Cell(model_text(*medium.at_a)) : Cell());
  facts.add("b_transceiver", "Transceiver at B", medium.at_b != nullptr ? Cell(model_text(*medium.at_b)) : Cell());
  const std::string splitter = labels_.splitter(id);
  if (!splitter.empty()) facts.add("splitter", "Splitter", {splitter, splitter + ", leg " + labels_.leg(id)});
}

TableSection Describer::cable_ends(model::CableId id) const {
  TableSection table{"ends", "Ends", {}, {}};
  table.columns = {left("end", "End"),        left("device", "Device"),         left("role", "Role"),
                   left("rack", "Rack"),      left("rack_units", "Rack units"), left("port", "Port"),
                   left("address", "Address")};
  const model::Cable& cable = cluster_.cable(id);
  for (const model::PortId end : {cable.a, cable.b}) {
    const model::DeviceId device = cluster_.port(end).device;
    table.rows.push_back({end == cable.a ? "A" : "B", cluster_.name_of(device),
                          views::role_of(cluster_, cluster_.group_of(device)),
                          text_cell(views::rack_name(cluster_, device)), text_cell(units_text(cluster_, device)),
                          cluster_.port_name(end), views::address_cell(cluster_.port(end).address)});
  }
  return table;
}

TableSection Describer::cable_table(std::string key, std::string title, std::span<const model::CableId> cables) const {
  TableSection table{std::move(key), std::move(title), {}, {}};
  table.columns = {left("cable", "Cable"), left("leg", "Leg"),          left("a_port", "A"),
                   left("b_port", "B"),    right("speed_bps", "Speed"), right("length_m", "Length (m)")};
  for (const model::CableId id : cables) {
    const model::Cable& cable = cluster_.cable(id);
    table.rows.push_back({labels_.label(id), text_cell(labels_.leg(id)), cluster_.full_port_name(cable.a),
                          cluster_.full_port_name(cable.b), speed_of(cluster_, cable),
                          views::meters_cell(cable.length_mm)});
  }
  return table;
}

// Other links in the same plugs: the legs of its splitter, and cables that share a cage with it (two fibers in one
// twin-port transceiver). All of them go down when the plug is pulled.
void Describer::add_plugs(model::CableId id, Document& document) const {
  std::set<model::CableId> shared;
  for (const model::CableId leg : labels_.legs(id)) shared.insert(leg);
  for (const model::PortId end : {cluster_.cable(id).a, cluster_.cable(id).b}) {
    for (const model::PortId other : cluster_.ports_of(cluster_.port(end).device)) {
      const model::Port& port = cluster_.port(other);
      const bool same_cage = port.cage == cluster_.port(end).cage && port.fabric == cluster_.port(end).fabric;
      if (same_cage && port.cable != model::kNone<model::CableId>) shared.insert(port.cable);
    }
  }
  shared.erase(id);
  if (shared.empty()) return;
  document.sections.emplace_back(cable_table("shared_plugs", "Other links in the same plugs",
                                             std::vector<model::CableId>(shared.begin(), shared.end())));
}

void Describer::add_cable(model::CableId id, Document& document) {
  const model::Cable& cable = cluster_.cable(id);
  FactList facts("cable", "Cable");
  facts.add("label", "Label", labels_.label(id));
  facts.add("fabric", "Fabric", model::to_text(cable.fabric));
  facts.add("role", "Role", model::to_text(cable.role));
  facts.add("speed_bps", "Speed", speed_of(cluster_, cable));
  add_medium(id, facts);
  facts.add("if_it_fails", "If it fails", impact({}, std::vector<model::CableId>{id}));
  document.sections.emplace_back(facts.take_section());
  document.sections.emplace_back(cable_ends(id));
  add_plugs(id, document);
}

void Describer::add_splitter(model::CableId first, Document& document) {
  const model::Cable& cable = cluster_.cable(first);
  const std::vector<model::CableId> legs = labels_.legs(first);
  FactList facts("splitter", "Splitter");
  facts.add("label", "Label", labels_.splitter(first));
  facts.add("fabric", "Fabric", model::to_text(cable.fabric));
  facts.add("role", "Role", model::to_text(cable.role));
  facts.add("links", "Links", legs.size());
  const model::Medium& medium = cluster_.media()[cable.medium];
  if (medium.cable != nullptr) facts.add("part", "Part", model_text(*medium.cable));
  facts.add("if_it_fails", "If it fails", impact({}, legs));
  document.sections.emplace_back(facts.take_section());
  document.sections.emplace_back(cable_table("legs", "Legs", legs));
}

// The use of an address of a subnet that no device has, or of its gateway.
namespace {

std::string use_of(const model::Subnet& subnet, Ipv4 address, bool assigned) {
  const std::uint64_t size = subnet.prefix.size();
  if (subnet.gateway == address) return "gateway";
  if (assigned) return "assigned";
  if (size > 2 && subnet.prefix.base == address) return "network address";
  if (size > 2 && subnet.prefix.at(size - 1) == address) return "broadcast address";
  const bool pods = subnet.pods_first.bits != 0 && subnet.pods_first <= address && address <= subnet.pods_last;
  return pods ? "reserved for pods" : "free";
}

}  // namespace

TableSection Describer::address_subnets(const std::string& text, bool assigned) const {
  const Result<Ipv4> address = parse_ipv4(text);
  const Ipv6 ipv6 = parse_ipv6(text).value_or(Ipv6{});
  TableSection table{"subnets", "In the subnets", {}, {}};
  table.columns = {left("subnet", "Subnet"),   left("fabric", "Fabric"),    left("prefix", "Prefix"),
                   left("gateway", "Gateway"), right("vlan", "VLAN"),       left("vrf", "VRF"),
                   left("use", "Use"),         left("switches", "Switches")};
  for (std::uint32_t s = 0; s < cluster_.subnets().size(); ++s) {
    const model::Subnet& subnet = cluster_.subnets()[s];
    if (address.ok() ? !subnet.prefix.contains(*address) : !prefix_contains(subnet.ipv6, ipv6)) continue;
    std::string use = address.ok() ? use_of(subnet, *address, assigned) : assigned ? "assigned" : "free";
    table.rows.push_back({subnet.name, model::to_text(subnet.fabric),
                          address.ok() ? weft::to_text(subnet.prefix) : weft::to_text(subnet.ipv6),
                          views::address_cell(subnet.gateway),
                          subnet.vlan > 0 ? Cell(std::int64_t{subnet.vlan}) : Cell(),
                          text_cell(views::settings_of(cluster_, subnet.fabric).vrf), std::move(use),
                          text_cell(switches_of(static_cast<model::SubnetId>(s)))});
  }
  for (const AddressRange& range : address_ranges(cluster_)) {
    if (!address.ok() || !range.prefix.contains(*address)) continue;
    table.rows.push_back({range.name, Cell(), weft::to_text(range.prefix), Cell(), Cell(), Cell(),
                          assigned ? "assigned" : "free", Cell()});
  }
  return table;
}

TableSection Describer::address_owners(std::span<const AddressOwner> owners) const {
  TableSection table{"owners", "Assigned to", {}, {}};
  table.columns = {left("device", "Device"), left("port", "Port"),     left("role", "Role"),
                   left("fabric", "Fabric"), left("rack", "Location"), left("peer", "Neighbor")};
  for (const AddressOwner& owner : owners) {
    const bool loopback = owner.port == model::kNone<model::PortId>;
    const model::DeviceGroup& group = cluster_.group_of(owner.device);
    const bool cabled = !loopback && cluster_.cable_of(owner.port) != model::kNone<model::CableId>;
    table.rows.push_back({cluster_.name_of(owner.device), loopback ? "lo" : cluster_.port_name(owner.port),
                          views::role_of(cluster_, group),
                          model::to_text(loopback ? group.fabric : cluster_.port(owner.port).fabric),
                          text_cell(place_of(cluster_, owner.device)),
                          cabled ? Cell(cluster_.full_port_name(cluster_.peer_of(owner.port))) : Cell()});
  }
  return table;
}

void Describer::add_address(const std::string& text, Document& document) const {
  const Result<Ipv4> address = parse_ipv4(text);
  const std::vector<AddressOwner> owners =
      address.ok() ? owners_of(cluster_, *address) : owners_of(cluster_, parse_ipv6(text).value_or(Ipv6{}));
  std::vector<std::string> names;
  names.reserve(owners.size());
  for (const AddressOwner& owner : owners) names.push_back(owner.name(cluster_));
  for (const model::Subnet& subnet : cluster_.subnets()) {
    if (address.ok() && subnet.gateway == *address) names.push_back("gateway of " + subnet.name);
  }
  FactList facts("address", "Address");
  facts.add("address", "Address", text);
  facts.add("assigned_to", "Assigned to", names.empty() ? Cell("no device") : Cell(join(names, ", ")));
  document.sections.emplace_back(facts.take_section());
  if (TableSection table = address_owners(owners); !table.rows.empty())
    document.sections.emplace_back(std::move(table));
  if (TableSection table = address_subnets(text, !owners.empty()); !table.rows.empty()) {
    document.sections.emplace_back(std::move(table));
  }
}

std::string Describer::switches_of(model::SubnetId id) const {
  std::set<std::string> switches;
  for (std::uint32_t p = 0; p < cluster_.ports().size(); ++p) {
    const model::Port& port = cluster_.ports()[p];
    if (port.subnet != id || port.address.bits == 0 || port.cable == model::kNone<model::CableId>) continue;
    switches.insert(cluster_.name_of(cluster_.port(cluster_.peer_of(static_cast<model::PortId>(p))).device));
  }
  return fold_hosts({switches.begin(), switches.end()});
}

void Describer::add_subnet(model::SubnetId id, Document& document) const {
  const model::Subnet& subnet = cluster_.subnet(id);
  struct Members {
    std::vector<std::string> hosts;
    Ipv4 first;
    Ipv4 last;
  };
  std::map<std::tuple<std::uint32_t, std::string>, Members> members;  // by group and port name
  std::uint64_t used = 0;
  for (std::uint32_t p = 0; p < cluster_.ports().size(); ++p) {
    const model::Port& port = cluster_.ports()[p];
    if (port.subnet != id || port.address.bits == 0) continue;
    const auto port_id = static_cast<model::PortId>(p);
    ++used;
    Members& here = members[{cluster_.device(port.device).group, cluster_.port_name(port_id)}];
    if (here.hosts.empty() || port.address < here.first) here.first = port.address;
    if (here.hosts.empty() || here.last < port.address) here.last = port.address;
    here.hosts.push_back(cluster_.name_of(port.device));
  }
  FactList facts("subnet", "Subnet");
  facts.add("name", "Name", subnet.name);
  facts.add("fabric", "Fabric", model::to_text(subnet.fabric));
  const bool railed = subnet.fabric == model::FabricKind::backend || subnet.fabric == model::FabricKind::storage;
  facts.add("rail", "Rail", views::ordinal_cell(railed, subnet.rail));
  facts.add("unit", "Unit", text_cell(views::unit_name(cluster_, subnet.unit)));
  facts.add("prefix", "Prefix", weft::to_text(subnet.prefix));
  facts.add("ipv6_prefix", "IPv6 prefix", subnet.ipv6.length > 0 ? Cell(weft::to_text(subnet.ipv6)) : Cell());
  facts.add("gateway", "Gateway", views::address_cell(subnet.gateway));
  facts.add("vlan", "VLAN", subnet.vlan > 0 ? Cell(std::int64_t{subnet.vlan}) : Cell());
  facts.add("vrf", "VRF", text_cell(views::settings_of(cluster_, subnet.fabric).vrf));
  facts.add("size", "Addresses", views::count_cell(subnet.prefix.size()));
  facts.add("used", "Assigned",
            {used, fmt::format("{} ({})", group_digits(used),
                               format_percent(static_cast<double>(used) / static_cast<double>(subnet.prefix.size())))});
  if (subnet.pods_first.bits != 0) {
    facts.add("pods", "Reserved for pods",
              fmt::format("{} to {}", weft::to_text(subnet.pods_first), weft::to_text(subnet.pods_last)));
  }
  facts.add("switches", "Switches", text_cell(switches_of(id)));
  document.sections.emplace_back(facts.take_section());
  TableSection table{"members", "Members", {}, {}};
  table.columns = {left("hosts", "Hosts"), left("port", "Port"), right("count", "Count"),
                   left("first", "First address"), left("last", "Last address")};
  for (auto& [key, here] : members) {
    const auto count = static_cast<std::int64_t>(here.hosts.size());
    table.rows.push_back({fold_hosts(std::move(here.hosts)), std::get<1>(key), count, weft::to_text(here.first),
                          weft::to_text(here.last)});
  }
  document.sections.emplace_back(std::move(table));
}

}  // namespace weft::inspect
