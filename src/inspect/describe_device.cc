// Servers, switches, PDUs and external networks.
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

namespace weft::inspect {

namespace views = design::views;
using views::left;
using views::right;
using views::text_cell;
using views::wide;

namespace {

bool has_rails(const model::Port& port) {
  return port.fabric == model::FabricKind::backend || port.fabric == model::FabricKind::storage;
}

// Labels of the pool, then those of the host's overrides.
std::string labels_of(const model::PoolSpec& pool, const std::string& host) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : *pool.labels) labels[key] = *value;
  for (const model::HostOverride& one : *pool.overrides) {
    if (!one.hosts.has_value() || !one.labels.has_value()) continue;
    const Result<std::vector<std::string>> hosts = expand_hosts(*one.hosts);
    if (!hosts.ok() || std::find(hosts->begin(), hosts->end(), host) == hosts->end()) continue;
    for (const auto& [key, value] : *one.labels) labels[key] = *value;
  }
  std::vector<std::string> texts;
  texts.reserve(labels.size());
  for (const auto& [key, value] : labels) texts.push_back(fmt::format("{}={}", key, value));
  return join(texts, ", ");
}

std::int64_t cages_of(const model::SwitchModel& model) {
  std::int64_t cages = 0;
  for (const model::CageGroup& group : *model.cages) cages += *group.count;
  return cages;
}

}  // namespace

void Describer::add_device(model::DeviceId id, Document& document) {
  const model::DeviceGroup& group = cluster_.group_of(id);
  FactList facts("device", "Device");
  facts.add("name", "Name", cluster_.name_of(id));
  facts.add("kind", "Kind", model::to_text(group.kind));
  if (group.kind == model::DeviceKind::server) add_server_facts(id, facts);
  if (group.kind == model::DeviceKind::network_switch) add_switch_facts(id, facts);
  if (group.kind == model::DeviceKind::pdu) facts.add("model", "Model", model_text(*group.pdu));
  add_location(id, facts);
  add_power(id, facts);
  add_management(id, facts);
  const bool pdu = group.kind == model::DeviceKind::pdu;
  const std::vector<model::DeviceId> failed = pdu ? lost_with_pdu(id) : std::vector<model::DeviceId>{id};
  facts.add("if_it_fails", "If it fails", impact(failed));
  document.sections.emplace_back(facts.take_section());
  if (pdu) add_pdu(id, document);
  if (group.kind == model::DeviceKind::network_switch || group.kind == model::DeviceKind::external) {
    document.sections.emplace_back(neighbors(id));
  }
  if (TableSection subnets = served_subnets(id); !subnets.rows.empty())
    document.sections.emplace_back(std::move(subnets));
  if (!cluster_.ports_of(id).empty()) document.sections.emplace_back(device_ports(id));
}

void Describer::add_server_facts(model::DeviceId id, FactList& facts) const {
  const model::DeviceGroup& group = cluster_.group_of(id);
  const model::ServerModel& server = cluster_.server_of(id);
  facts.add("role", "Role", views::role_of(cluster_, group));
  facts.add("model", "Model", model_text(server));
  facts.add("pool", "Pool", group.pool >= 0 ? Cell(group.name) : Cell());
  facts.add("unit", "Unit", text_cell(views::unit_name(cluster_, cluster_.device(id).unit)));
  if (*server.gpus > 0) {
    facts.add("gpus", "GPUs", {*server.gpus, fmt::format("{} x {}", *server.gpus, *server.gpu)});
  }
  facts.add("default_gateway", "Default gateway", text_cell(default_gateway(id)));
  if (group.pool < 0) return;
  const model::PoolSpec& pool = (*cluster_.spec().pools)[static_cast<std::size_t>(group.pool)];
  const std::vector<std::string> partitions = partitions_of(group.name);
  facts.add("partitions", "Partitions", text_cell(join(partitions, ", ")));
  facts.add("tenants", "Tenants", text_cell(tenants_of(partitions)));
  facts.add("storage", "Storage system", text_cell(join(storage_on(group.name), ", ")));
  facts.add("labels", "Labels", text_cell(labels_of(pool, cluster_.name_of(id))));
}

void Describer::add_switch_facts(model::DeviceId id, FactList& facts) const {
  const model::Device& device = cluster_.device(id);
  const model::DeviceGroup& group = cluster_.group_of(id);
  const model::FabricPlan& plan = cluster_.fabric(group.fabric);
  facts.add("fabric", "Fabric", model::to_text(group.fabric));
  facts.add("tier", "Tier", model::to_text(group.tier));
  facts.add("model", "Model", model_text(*group.network_switch));
  facts.add("system", "Operating system", text_cell(std::string(cluster_.switch_os_of(id))));
  facts.add("unit", "Unit", text_cell(views::unit_name(cluster_, device.unit)));
  facts.add("pod", "Pod", views::ordinal_cell(plan.tiers >= 3 && group.tier != model::Tier::core, device.pod));
  const bool rails = plan.wiring == model::Wiring::rail_optimized || plan.wiring == model::Wiring::rail_only;
  facts.add("rail", "Rail",
            views::ordinal_cell(group.tier == model::Tier::leaf && plan.rails > 1 && rails, device.rail));
  facts.add("plane", "Plane", views::ordinal_cell(plan.planes > 1, device.plane));
  facts.add("asn", "ASN", device.asn > 0 ? Cell(device.asn) : Cell());
  facts.add("loopback", "Loopback", views::address_cell(device.loopback));
  std::set<std::uint16_t> used;
  std::uint32_t ports = 0;
  for (const model::PortId port : cluster_.ports_of(id)) {
    if (cluster_.port(port).fabric != group.fabric) continue;
    ++ports;
    used.insert(cluster_.port(port).cage);
  }
  facts.add("ports_used", "Ports in use", ports);
  facts.add(
      "cages_used", "Cages in use",
      {static_cast<std::int64_t>(used.size()), fmt::format("{} of {}", used.size(), cages_of(*group.network_switch))});
}

void Describer::add_location(model::DeviceId id, FactList& facts) const {
  const model::RackId where = cluster_.device(id).rack;
  if (where == model::kNone<model::RackId>) return;
  const model::Rack& rack = cluster_.rack(where);
  facts.add("rack", "Rack", {rack.name, fmt::format("{} (row {}, position {})", rack.name, rack.row, rack.column)});
  const std::uint16_t unit = cluster_.device(id).rack_unit;
  if (unit > 0) facts.add("rack_unit", "Rack units", {std::int64_t{unit}, units_text(cluster_, id)});
}

void Describer::add_power(model::DeviceId id, FactList& facts) const {
  const model::DeviceGroup& group = cluster_.group_of(id);
  if (group.kind == model::DeviceKind::pdu) {
    facts.add("rating_w", "Rating", views::power_cell(*group.pdu->rating));
    facts.add("feeds", "Power feed", views::feed_name(cluster_.feed_of_pdu(id)));
    return;
  }
  if (group.kind == model::DeviceKind::external) return;
  const Power power =
      group.kind == model::DeviceKind::server ? *cluster_.server_of(id).power : *group.network_switch->power;
  facts.add("power_w", "Power, maximum", views::power_cell(power));
  const views::Supplies supplies = views::supplies_of(cluster_, id);
  facts.add("power_supplies", "Power supplies",
            {std::int64_t{supplies.fitted}, fmt::format("{}, {} needed", supplies.fitted, supplies.needed)});
  facts.add("feeds", "Power feeds", text_cell(views::feeds_of(cluster_, id)));
  const model::RackId where = cluster_.device(id).rack;
  std::vector<std::string> pdus;
  for (std::uint32_t p = 0; where != model::kNone<model::RackId> && p < cluster_.rack(where).pdus; ++p) {
    const auto pdu = static_cast<model::DeviceId>(model::index_of(cluster_.rack(where).first_pdu) + p);
    if (supplies_on(id, pdu) > 0) pdus.push_back(cluster_.name_of(pdu));
  }
  facts.add("pdus", "PDUs", text_cell(fold_hosts(pdus)));
}

void Describer::add_management(model::DeviceId id, FactList& facts) const {
  const bool server = cluster_.group_of(id).kind == model::DeviceKind::server;
  facts.add(server ? "bmc_address" : "oob_address", server ? "BMC address" : "OOB address",
            views::address_cell(cluster_.oob_address(id)));
  for (const model::PortId port : cluster_.ports_of(id)) {
    const std::string_view direction = direction_of(cluster_, port);
    if (direction != "bmc" && direction != "management") continue;
    facts.add(server ? "bmc_switch_port" : "oob_switch_port", server ? "BMC connected to" : "OOB connected to",
              cluster_.full_port_name(cluster_.peer_of(port)));
    return;
  }
}

std::string Describer::default_gateway(model::DeviceId id) const {
  for (const model::PortId port_id : cluster_.ports_of(id)) {
    const model::Port& port = cluster_.port(port_id);
    const model::FabricSpec* fabric = cluster_.find_fabric_spec(port.fabric);
    if (fabric == nullptr || !*fabric->default_route || port.subnet == model::kNone<model::SubnetId>) continue;
    const Ipv4 gateway = cluster_.subnet(port.subnet).gateway;
    if (gateway.bits == 0) continue;
    return fmt::format("{} ({}, {})", weft::to_text(gateway), model::to_text(port.fabric), cluster_.port_name(port_id));
  }
  return {};
}

void Describer::add_pdu(model::DeviceId id, Document& document) {
  TableSection table{"supplied", "Devices on this PDU", {}, {}};
  table.columns = {left("device", "Device"),           left("rack_units", "Rack units"),
                   right("supplies", "Supplies here"), right("supplies_fitted", "Supplies in all"),
                   right("supplies_needed", "Needed"), left("fails_with_pdu", "Fails with the PDU")};
  const model::RackId rack = cluster_.device(id).rack;
  if (rack == model::kNone<model::RackId>) return;
  for (const model::DeviceId device : cluster_.devices_in(rack)) {
    const int here = supplies_on(device, id);
    if (here == 0) continue;
    const views::Supplies supplies = views::supplies_of(cluster_, device);
    table.rows.push_back({cluster_.name_of(device), text_cell(units_text(cluster_, device)), here, supplies.fitted,
                          supplies.needed, supplies.fitted - here < supplies.needed});
  }
  document.sections.emplace_back(std::move(table));
}

TableSection Describer::device_ports(model::DeviceId id) const {
  TableSection table{"ports", "Ports", {}, {}};
  table.columns = {left("port", "Port"),        left("fabric", "Fabric"),         right("rail", "Rail"),
                   left("direction", "Link"),   right("speed_bps", "Speed"),      left("address", "Address"),
                   left("subnet", "Subnet"),    wide(left("gateway", "Gateway")), wide(right("vlan", "VLAN")),
                   left("cable", "Cable"),      left("medium", "Medium"),         right("length_m", "Length (m)"),
                   left("peer_device", "Peer"), left("peer_port", "Peer port"),   wide(left("peer_rack", "Peer rack"))};
  const bool host = cluster_.group_of(id).kind == model::DeviceKind::server;
  for (const model::PortId port_id : cluster_.ports_of(id)) {
    const model::Port& port = cluster_.port(port_id);
    const model::SubnetId subnet_id = subnet_of(port_id);
    const model::Subnet* subnet = subnet_id == model::kNone<model::SubnetId> ? nullptr : &cluster_.subnet(subnet_id);
    const std::string address = port.address.bits == 0 ? std::string()
                                : subnet == nullptr
                                    ? weft::to_text(port.address)
                                    : fmt::format("{}/{}", weft::to_text(port.address), subnet->prefix.length);
    std::vector<Cell> row = {cluster_.port_name(port_id),
                             model::to_text(port.fabric),
                             views::ordinal_cell(host && has_rails(port), port.rail),
                             direction_of(cluster_, port_id),
                             views::speed_cell(port.speed()),
                             text_cell(address),
                             subnet == nullptr ? Cell() : Cell(subnet->name),
                             subnet == nullptr ? Cell() : views::address_cell(subnet->gateway),
                             subnet == nullptr || subnet->vlan == 0 ? Cell() : Cell(std::int64_t{subnet->vlan})};
    if (port.cable != model::kNone<model::CableId>) {
      const model::Cable& cable = cluster_.cable(port.cable);
      const model::CableModel* medium = cluster_.media()[cable.medium].cable;
      const model::PortId peer = cluster_.peer_of(port_id);
      const model::DeviceId peer_device = cluster_.port(peer).device;
      row.emplace_back(labels_.label(port.cable));
      row.push_back(medium == nullptr ? Cell() : Cell(model::text_of(*medium->kind)));
      row.push_back(views::meters_cell(cable.length_mm));
      row.emplace_back(cluster_.name_of(peer_device));
      row.emplace_back(cluster_.port_name(peer));
      row.push_back(text_cell(views::rack_name(cluster_, peer_device)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

TableSection Describer::neighbors(model::DeviceId id) const {
  struct Bundle {
    std::vector<std::string> peers;
    std::vector<std::string> ports;
  };
  // Links to the devices of one group: "16 links to be-spine[001-004]".
  std::map<std::tuple<std::string_view, model::FabricKind, std::uint32_t, std::uint32_t>, Bundle> bundles;
  for (const model::PortId port_id : cluster_.ports_of(id)) {
    const model::Port& port = cluster_.port(port_id);
    if (port.cable == model::kNone<model::CableId>) continue;
    const model::DeviceId peer = cluster_.port(cluster_.peer_of(port_id)).device;
    Bundle& bundle =
        bundles[{direction_of(cluster_, port_id), port.fabric, cluster_.device(peer).group, port.speed_mbps}];
    bundle.peers.push_back(cluster_.name_of(peer));
    bundle.ports.push_back(cluster_.port_name(port_id));
  }
  TableSection table{"neighbors", "Neighbors", {}, {}};
  table.columns = {left("direction", "Link"),       left("fabric", "Fabric"),   left("peers", "Neighbors"),
                   right("devices", "Devices"),     right("links", "Links"),    right("speed_bps", "Speed"),
                   right("total_bps", "Bandwidth"), left("ports", "Ports here")};
  for (auto& [key, bundle] : bundles) {
    const auto& [direction, fabric, group, speed_mbps] = key;
    const BitRate speed(std::int64_t{speed_mbps} * 1'000'000);
    const auto links = static_cast<std::int64_t>(bundle.ports.size());
    const std::set<std::string> devices(bundle.peers.begin(), bundle.peers.end());
    table.rows.push_back({direction, model::to_text(fabric), fold_hosts(std::move(bundle.peers)), devices.size(), links,
                          views::speed_cell(speed), views::speed_cell(speed * links), port_range(bundle.ports)});
  }
  return table;
}

// The subnets of the hosts that are connected to a switch: it is their gateway, if they are routed.
TableSection Describer::served_subnets(model::DeviceId id) const {
  TableSection table{"subnets", "Subnets of its hosts", {}, {}};
  table.columns = {left("subnet", "Subnet"), left("prefix", "Prefix"), left("gateway", "Gateway"),
                   right("vlan", "VLAN"),    left("vrf", "VRF"),       right("hosts", "Ports here")};
  if (cluster_.group_of(id).kind != model::DeviceKind::network_switch) return table;
  std::map<model::SubnetId, std::int64_t> hosts;
  for (const model::PortId port : cluster_.ports_of(id)) {
    const model::SubnetId subnet = subnet_of(port);
    if (direction_of(cluster_, port) == "down" && subnet != model::kNone<model::SubnetId>) ++hosts[subnet];
  }
  for (const auto& [subnet_id, count] : hosts) {
    const model::Subnet& subnet = cluster_.subnet(subnet_id);
    table.rows.push_back({subnet.name, weft::to_text(subnet.prefix), views::address_cell(subnet.gateway),
                          subnet.vlan > 0 ? Cell(std::int64_t{subnet.vlan}) : Cell(),
                          text_cell(views::settings_of(cluster_, subnet.fabric).vrf), count});
  }
  return table;
}

}  // namespace weft::inspect
