// Racks, servers and switches, one row each.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "design/views.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

using views::left;
using views::right;
using views::wide;

std::string rack_feeds(const model::Cluster& cluster, const model::Rack& rack) {
  std::string text;
  for (std::uint32_t i = 0; i < rack.pdus; ++i) {
    const auto pdu = static_cast<model::DeviceId>(model::index_of(rack.first_pdu) + i);
    const std::string feed = views::feed_name(cluster.feed_of_pdu(pdu));
    if (text.find(feed) == std::string::npos) text += (text.empty() ? "" : " ") + feed;
  }
  return text;
}

struct HostPorts {
  std::array<std::uint32_t, model::kFabrics> count{};
  std::array<Ipv4, model::kFabrics> first{};
};

HostPorts host_ports(const model::Cluster& cluster, model::DeviceId id) {
  HostPorts ports;
  for (const model::PortId port_id : cluster.ports_of(id)) {
    const model::Port& port = cluster.port(port_id);
    const auto fabric = static_cast<std::size_t>(port.fabric);
    ++ports.count[fabric];
    if (ports.first[fabric].bits == 0) ports.first[fabric] = port.address;
  }
  return ports;
}

std::vector<Cell> node_row(const model::Cluster& cluster, const model::DeviceGroup& group, model::DeviceId id) {
  const model::Device& device = cluster.device(id);
  const model::ServerModel& server = cluster.server_of(id);
  const HostPorts ports = host_ports(cluster, id);
  const auto count = [&](model::FabricKind kind) { return Cell(ports.count[static_cast<std::size_t>(kind)]); };
  const auto first = [&](model::FabricKind kind) {
    return views::address_cell(ports.first[static_cast<std::size_t>(kind)]);
  };
  return {cluster.name_of(id),
          group.name,
          views::role_of(cluster, group),
          server.id->text,
          views::text_cell(views::rack_name(cluster, id)),
          device.rack_unit > 0 ? Cell(std::int64_t{device.rack_unit}) : Cell(),
          views::text_cell(views::unit_name(cluster, device.unit)),
          *server.gpus,
          count(model::FabricKind::backend),
          first(model::FabricKind::backend),
          first(model::FabricKind::frontend),
          views::address_cell(cluster.oob_address(id)),
          count(model::FabricKind::storage),
          first(model::FabricKind::storage),
          count(model::FabricKind::frontend),
          *server.height,
          views::power_cell(*server.power),
          views::text_cell(views::feeds_of(cluster, id))};
}

struct PortsUsed {
  std::uint32_t ports = 0;
  std::uint32_t cages = 0;
};

// Ports on the switch's own fabric; the management port is not part of its radix.
PortsUsed ports_used(const model::Cluster& cluster, const model::DeviceGroup& group, model::DeviceId id) {
  PortsUsed used;
  std::uint32_t last_cage = UINT32_MAX;  // ports are in cage order
  for (const model::PortId port_id : cluster.ports_of(id)) {
    const model::Port& port = cluster.port(port_id);
    if (port.fabric != group.fabric) continue;
    ++used.ports;
    if (std::exchange(last_cage, std::uint32_t{port.cage}) != port.cage) ++used.cages;
  }
  return used;
}

std::vector<Cell> switch_row(const model::Cluster& cluster, const model::DeviceGroup& group, model::DeviceId id) {
  const model::Device& device = cluster.device(id);
  const model::FabricPlan& plan = cluster.fabric(group.fabric);
  const PortsUsed used = ports_used(cluster, group, id);
  std::int64_t cages = 0;
  for (const model::CageGroup& cage : *group.network_switch->cages) cages += *cage.count;
  const bool rails = group.tier == model::Tier::leaf && plan.rails > 1 &&
                     (plan.wiring == model::Wiring::rail_optimized || plan.wiring == model::Wiring::rail_only);
  return {cluster.name_of(id),
          model::to_text(group.fabric),
          model::to_text(group.tier),
          group.network_switch->id->text,
          views::text_cell(views::rack_name(cluster, id)),
          device.rack_unit > 0 ? Cell(std::int64_t{device.rack_unit}) : Cell(),
          views::ordinal_cell(plan.tiers >= 3 && group.tier != model::Tier::core, device.pod),
          views::text_cell(views::unit_name(cluster, device.unit)),
          views::ordinal_cell(rails, device.rail),
          views::ordinal_cell(plan.planes > 1, device.plane),
          used.ports,
          device.asn > 0 ? Cell(device.asn) : Cell(),
          views::address_cell(device.loopback),
          views::address_cell(cluster.oob_address(id)),
          used.cages,
          cages,
          views::power_cell(*group.network_switch->power),
          views::text_cell(views::feeds_of(cluster, id))};
}

}  // namespace

Document racks_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "racks";
  TableSection table{"racks", "Racks", {}, {}};
  table.columns = {left("rack", "Rack"),
                   right("row", "Row"),
                   right("position", "Position"),
                   left("pool", "Pool"),
                   right("units_used", "Units used (U)"),
                   right("units_total", "Units total (U)"),
                   right("devices", "Devices"),
                   right("power_w", "Power, maximum"),
                   right("limit_w", "Power limit"),
                   left("feeds", "Feeds"),
                   wide(right("power_percent", "Power of limit")),
                   wide(right("pdus", "PDUs")),
                   wide(left("model", "Model"))};
  table.rows.reserve(cluster.racks().size());
  for (std::uint32_t r = 0; r < cluster.racks().size(); ++r) {
    const model::Rack& rack = cluster.racks()[r];
    const std::size_t devices = cluster.devices_in(static_cast<model::RackId>(r)).size();
    const bool limited = rack.limit.count() > 0;
    const double percent =
        limited ? 100.0 * static_cast<double>(rack.power.count()) / static_cast<double>(rack.limit.count()) : 0.0;
    table.rows.push_back({rack.name, rack.row, rack.column,
                          rack.pool >= 0 ? views::pool_name(cluster, rack.pool) : std::string("service"),
                          rack.used_units, *rack.model->height, devices - rack.pdus, views::power_cell(rack.power),
                          limited ? views::power_cell(rack.limit) : Cell(), views::text_cell(rack_feeds(cluster, rack)),
                          limited ? views::percent_cell(percent) : Cell(), rack.pdus, rack.model->id->text});
  }
  document.sections.emplace_back(std::move(table));
  document.notes.emplace_back(
      "PDUs occupy no rack units and are not counted as devices. Service rows have negative numbers.");
  return document;
}

Document nodes_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "nodes";
  TableSection table{"nodes", "Nodes", {}, {}};
  table.columns = {left("host", "Host"),
                   left("pool", "Pool"),
                   left("role", "Role"),
                   left("model", "Model"),
                   left("rack", "Rack"),
                   right("rack_unit", "U"),
                   left("unit", "Unit"),
                   right("gpus", "GPUs"),
                   right("backend_ports", "Backend ports"),
                   left("backend_address", "First backend address"),
                   left("frontend_address", "Frontend address"),
                   left("bmc_address", "BMC address"),
                   wide(right("storage_ports", "Storage ports")),
                   wide(left("storage_address", "First storage address")),
                   wide(right("frontend_ports", "Frontend ports")),
                   wide(right("height_u", "Height (U)")),
                   wide(right("power_w", "Power, maximum")),
                   wide(left("feeds", "Feeds"))};
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::server) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      table.rows.push_back(node_row(cluster, group, static_cast<model::DeviceId>(model::index_of(group.first) + i)));
    }
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

Document switches_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric) {
  Document document;
  document.kind = "switches";
  TableSection table{"switches", "Switches", {}, {}};
  table.columns = {left("switch", "Switch"),
                   left("fabric", "Fabric"),
                   left("tier", "Tier"),
                   left("model", "Model"),
                   left("rack", "Rack"),
                   right("rack_unit", "U"),
                   right("pod", "Pod"),
                   left("unit", "Unit"),
                   right("rail", "Rail"),
                   right("plane", "Plane"),
                   right("ports_used", "Ports used"),
                   right("asn", "ASN"),
                   left("loopback", "Loopback"),
                   left("oob_address", "OOB address"),
                   wide(right("cages_used", "Cages used")),
                   wide(right("cages_total", "Cages total")),
                   wide(right("power_w", "Power, maximum")),
                   wide(left("feeds", "Feeds"))};
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::network_switch || (fabric && group.fabric != *fabric)) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      table.rows.push_back(switch_row(cluster, group, static_cast<model::DeviceId>(model::index_of(group.first) + i)));
    }
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::design
