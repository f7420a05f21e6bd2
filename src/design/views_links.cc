// Links with their cables, and ports, one row each, for cabling crews and operators.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/human_format.h"
#include "design/cable_labels.h"
#include "design/views.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

using views::left;
using views::right;
using views::wide;

void add_end(const model::Cluster& cluster, model::PortId id, std::vector<Cell>& row) {
  const model::DeviceId device = cluster.port(id).device;
  const std::uint16_t rack_unit = cluster.device(device).rack_unit;
  row.emplace_back(cluster.name_of(device));
  row.push_back(views::text_cell(views::rack_name(cluster, device)));
  row.push_back(rack_unit > 0 ? Cell(std::int64_t{rack_unit}) : Cell());
  row.emplace_back(cluster.port_name(id));
}

Cell transceiver_cell(const model::TransceiverModel* transceiver) {
  return transceiver == nullptr ? Cell() : Cell(transceiver->id->text);
}

// The access VLAN of a port: a switch port has that of the host it serves.
model::SubnetId subnet_of(const model::Cluster& cluster, const model::Port& port, model::PortId peer) {
  if (port.subnet != model::kNone<model::SubnetId> || peer == model::kNone<model::PortId>) return port.subnet;
  return cluster.port(peer).subnet;
}

std::vector<Cell> port_row(const model::Cluster& cluster, model::PortId id, const views::FabricSettings& settings) {
  const model::Port& port = cluster.port(id);
  const model::PortId peer = cluster.peer_of(id);
  const model::SubnetId subnet = subnet_of(cluster, port, peer);
  const bool tagged = subnet != model::kNone<model::SubnetId> && cluster.subnet(subnet).vlan > 0;
  const model::FabricPlan& plan = cluster.fabric(port.fabric);
  const bool railed = port.fabric == model::FabricKind::backend || port.fabric == model::FabricKind::storage;
  const bool host = cluster.group_of(port.device).kind == model::DeviceKind::server;
  return {cluster.name_of(port.device),
          cluster.port_name(id),
          model::to_text(port.fabric),
          views::speed_cell(port.speed()),
          views::ordinal_cell(railed && host, port.rail),
          views::ordinal_cell(plan.planes > 1, port.plane),
          std::int64_t{port.cage},
          std::int64_t{port.lane},
          peer == model::kNone<model::PortId> ? Cell() : Cell(cluster.name_of(cluster.port(peer).device)),
          peer == model::kNone<model::PortId> ? Cell() : Cell(cluster.port_name(peer)),
          settings.mtu ? Cell(*settings.mtu) : Cell(),
          tagged ? Cell(std::int64_t{cluster.subnet(subnet).vlan}) : Cell(),
          views::address_cell(port.address)};
}

}  // namespace

Document cables_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric) {
  Document document;
  document.kind = "cables";
  TableSection table{"cables", "Cables", {}, {}};
  table.columns = {left("label", "Label"),
                   left("a_device", "A device"),
                   left("a_rack", "A rack"),
                   right("a_rack_unit", "A U"),
                   left("a_port", "A port"),
                   left("b_device", "B device"),
                   left("b_rack", "B rack"),
                   right("b_rack_unit", "B U"),
                   left("b_port", "B port"),
                   left("cable", "Cable"),
                   left("medium", "Medium"),
                   wide(left("a_transceiver", "A transceiver")),
                   wide(left("b_transceiver", "B transceiver")),
                   right("speed_bps", "Speed"),
                   right("length_m", "Length (m)"),
                   left("assembly", "Splitter"),
                   wide(left("leg", "Leg")),
                   left("role", "Role")};
  const CableLabels labels(cluster);
  for (std::uint32_t c = 0; c < cluster.cables().size(); ++c) {
    const auto id = static_cast<model::CableId>(c);
    const model::Cable& cable = cluster.cable(id);
    if (fabric && cable.fabric != *fabric) continue;
    const model::Medium& medium = cluster.media()[cable.medium];
    std::vector<Cell> row;
    row.reserve(table.columns.size());
    row.emplace_back(labels.label(id));
    add_end(cluster, cable.a, row);
    add_end(cluster, cable.b, row);
    row.emplace_back(medium.cable == nullptr ? Cell() : Cell(medium.cable->id->text));
    row.emplace_back(medium.cable == nullptr ? Cell() : Cell(model::text_of(*medium.cable->kind)));
    row.push_back(transceiver_cell(medium.at_a));
    row.push_back(transceiver_cell(medium.at_b));
    row.push_back(views::speed_cell(cluster.port(cable.a).speed()));
    row.push_back(views::meters_cell(cable.length_mm));
    row.push_back(views::text_cell(labels.splitter(id)));
    row.push_back(views::text_cell(labels.leg(id)));
    row.emplace_back(model::to_text(cable.role));
    table.rows.push_back(std::move(row));
  }
  document.sections.emplace_back(std::move(table));
  if (!fabric) {
    document.notes.push_back(fmt::format("One row per link: {} on {}; the links of one splitter share a cable.",
                                         grouped_plural(views::count_links(cluster), "link", "links"),
                                         grouped_plural(views::count_cables(cluster), "cable", "cables")));
  }
  return document;
}

Document ports_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric) {
  Document document;
  document.kind = "ports";
  TableSection table{"ports", "Ports", {}, {}};
  table.columns = {left("device", "Device"),
                   left("port", "Port"),
                   left("fabric", "Fabric"),
                   right("speed_bps", "Speed"),
                   right("rail", "Rail"),
                   right("plane", "Plane"),
                   wide(right("cage", "Cage")),
                   wide(right("lane", "Lane")),
                   left("peer_device", "Peer device"),
                   left("peer_port", "Peer port"),
                   right("mtu_bytes", "MTU (bytes)"),
                   right("vlan", "VLAN"),
                   left("address", "Address")};
  std::array<views::FabricSettings, model::kFabrics> settings;
  for (int kind = 0; kind < model::kFabrics; ++kind) {
    settings[static_cast<std::size_t>(kind)] = views::settings_of(cluster, static_cast<model::FabricKind>(kind));
  }
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    for (const model::PortId id : cluster.ports_of(static_cast<model::DeviceId>(d))) {
      const model::FabricKind kind = cluster.port(id).fabric;
      if (fabric && kind != *fabric) continue;
      table.rows.push_back(port_row(cluster, id, settings[static_cast<std::size_t>(kind)]));
    }
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::design
