// Adds ports and cables, computes the length of a run, and applies the cables listed in the file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft::model {
namespace {

constexpr std::uint32_t kRackUnitMm = 44;  // EIA-310: 44.45 mm

}  // namespace

PortId ClusterBuilder::add_port(DeviceId device, FabricKind fabric, std::uint32_t cage, std::uint32_t lane,
                                std::uint32_t lanes, BitRate speed) {
  Port p;
  p.device = device;
  p.fabric = fabric;
  p.cage = static_cast<std::uint16_t>(cage);
  p.lane = static_cast<std::uint8_t>(lane);
  p.lanes = static_cast<std::uint8_t>(lanes);
  p.speed_mbps = static_cast<std::uint32_t>(speed.count() / 1'000'000);
  cluster_->ports_.push_back(p);
  return static_cast<PortId>(cluster_->ports_.size() - 1);
}

// Port `position` of a group of cages, all in one mode.
PortId ClusterBuilder::add_switch_port(DeviceId id, FabricKind fabric, const PortMode& mode, std::uint32_t position) {
  const std::uint32_t cage = mode.first_cage + position / mode.per_cage;
  CHECK(position < mode.ports(), "a switch port beyond the last cage");
  return add_port(id, fabric, cage, position % mode.per_cage * mode.lanes_each, mode.lanes_each, mode.speed);
}

// The number of planes that the ports of a server are split over.
std::uint32_t ClusterBuilder::planes_of(const DeviceGroup& group, FabricKind fabric) const {
  return fabric == FabricKind::oob || group.manager ? 1 : static_cast<std::uint32_t>(fabric_spec(fabric).planes.value);
}

PortId ClusterBuilder::add_server_port(DeviceId server, FabricKind fabric, std::uint32_t number, std::uint32_t rail,
                                       std::uint32_t plane, BitRate speed) {
  const DeviceGroup& group = cluster_->group_of(server);
  const PortUse use = group.manager && fabric != FabricKind::oob ? PortUse::backend : port_use(fabric);
  const PortGroup* ports = port_group(*group.server, use);
  const auto per_cage = static_cast<std::uint32_t>(ports->per_cage.value);
  const std::uint32_t planes = planes_of(group, fabric);
  const std::uint32_t cage = first_cage(*group.server, ports) + number / per_cage;
  const PortId id = add_port(server, fabric, cage, number % per_cage * planes + plane, 1, speed);
  port(id).rail = static_cast<std::uint8_t>(rail);
  port(id).plane = static_cast<std::uint8_t>(plane);
  return id;
}

CableId ClusterBuilder::connect(PortId a, PortId b, CableRole role) {
  Cable cable;
  cable.a = a;
  cable.b = b;
  cable.role = role;
  cable.fabric = port(a).fabric;
  const auto id = static_cast<CableId>(cluster_->cables_.size());
  port(a).cable = id;
  port(b).cable = id;
  cluster_->cables_.push_back(cable);
  FabricPlan& plan = plan_of(cable.fabric);
  switch (role) {
    case CableRole::host_leaf:
      ++plan.host_links;
      break;
    case CableRole::manager_leaf:
      ++plan.manager_links;
      break;
    case CableRole::leaf_spine:
    case CableRole::oob_uplink:
      ++plan.leaf_spine_links;
      break;
    case CableRole::spine_core:
      ++plan.spine_core_links;
      break;
    case CableRole::peer:
      ++plan.peer_links;
      break;
    case CableRole::external:
      ++plan.external_links;
      break;
    case CableRole::oob_frontend:
    case CableRole::back_to_back:
      break;
  }
  return id;
}

// `cables:` in the file: moves the far end of a host's cable to another switch port of the same fabric. If that port is
// in use, the two cables are swapped.
void ClusterBuilder::apply_cable_overrides() {
  if (spec_.cables->empty()) return;
  std::unordered_map<std::string, PortId> by_name;
  for (std::size_t i = 0; i < cluster_->ports_.size(); ++i) {
    by_name.emplace(cluster_->full_port_name(static_cast<PortId>(i)), static_cast<PortId>(i));
  }
  for (const CableSpec& change : spec_.cables.value) {
    const auto from = by_name.find(change.from.value);
    if (from == by_name.end()) {
      diagnostics_.error(change.from.place, fmt::format("no cabled port `{}`", change.from.value),
                         "write host:port, such as train001:be1; `weft show ports` lists them", change.from->size());
      continue;
    }
    const PortId a = from->second;
    Cable& cable = cluster_->cables_[index_of(port(a).cable)];
    if (cable.a != a || cable.role != CableRole::host_leaf) {
      diagnostics_.error(change.from.place, fmt::format("`{}` is not a server port", change.from.value), {},
                         change.from->size());
      continue;
    }
    const PortId b = cable.b;
    const auto to = by_name.find(change.to.value);
    if (to != by_name.end()) {
      Cable& other = cluster_->cables_[index_of(port(to->second).cable)];
      if (other.b != to->second || other.role != CableRole::host_leaf || other.fabric != cable.fabric ||
          port(to->second).speed_mbps != port(a).speed_mbps) {
        diagnostics_.error(change.to.place,
                           fmt::format("`{}` does not take a {} cable of the {} fabric", change.to.value,
                                       to_text(port(a).speed()), to_text(cable.fabric)),
                           {}, change.to->size());
        continue;
      }
      std::swap(cable.b, other.b);
      std::swap(port(cable.b).cable, port(other.b).cable);
      continue;
    }
    // A free switch port: the same mode as the old port, at another position.
    const std::size_t colon = change.to->rfind(":p");
    const std::string name = change.to->substr(0, colon == std::string::npos ? 0 : colon);
    DeviceId target = kNone<DeviceId>;
    for (std::size_t i = 0; i < cluster_->names_.size(); ++i) {
      if (cluster_->names_[i] == name) target = static_cast<DeviceId>(i);
    }
    const bool is_leaf = target != kNone<DeviceId> && cluster_->group_of(target).kind == DeviceKind::network_switch &&
                         cluster_->group_of(target).tier == Tier::leaf &&
                         cluster_->group_of(target).fabric == cable.fabric;
    if (!is_leaf) {
      diagnostics_.error(change.to.place, fmt::format("no leaf `{}` on the {} fabric", name, to_text(cable.fabric)),
                         "write leaf:port, such as be-train-u001-leaf1:p5/1", change.to->size());
      continue;
    }
    const PortMode mode = find_mode(*cluster_->group_of(target).network_switch, port(b).speed());
    bool moved = false;
    for (std::uint32_t position = 0; position < mode.ports() && !moved; ++position) {
      const Port before = port(b);
      Port& moving = port(b);
      moving.device = target;
      moving.cage = static_cast<std::uint16_t>(mode.first_cage + position / mode.per_cage);
      moving.lane = static_cast<std::uint8_t>(position % mode.per_cage * mode.lanes_each);
      moving.lanes = static_cast<std::uint8_t>(mode.lanes_each);
      moved = cluster_->full_port_name(b) == change.to.value;
      if (!moved) port(b) = before;
    }
    for (std::size_t i = 0; i < cluster_->ports_.size() && moved; ++i) {
      const Port& other = cluster_->ports_[i];
      const Port& mine = port(b);
      const bool overlap = other.lane < mine.lane + mine.lanes && mine.lane < other.lane + other.lanes;
      if (static_cast<PortId>(i) == b || other.device != mine.device || other.cage != mine.cage || !overlap) continue;
      diagnostics_.error(change.to.place,
                         fmt::format("`{}` is part of a cage that `{}` uses", change.to.value,
                                     cluster_->full_port_name(static_cast<PortId>(i))),
                         {}, change.to->size());
      break;
    }
    if (!moved) {
      diagnostics_.error(change.to.place, fmt::format("`{}` has no such port at {}", name, to_text(port(a).speed())),
                         {}, change.to->size());
      continue;
    }
    by_name.emplace(change.to.value, b);
  }
}

// Up to the tray above the rack, along the rows, and down again; within a rack directly.
std::uint32_t ClusterBuilder::run_length_mm(DeviceId a, DeviceId b) const {
  const Device& x = cluster_->device(a);
  const Device& y = cluster_->device(b);
  const auto slack = static_cast<std::uint32_t>(spec_.site->cable_slack->count());
  if (x.rack == kNone<RackId> || y.rack == kNone<RackId>) return 30'000 + slack;  // the site's end: position unknown
  const Rack& p = cluster_->rack(x.rack);
  const Rack& q = cluster_->rack(y.rack);
  if (x.rack == y.rack) return static_cast<std::uint32_t>(std::abs(x.rack_unit - y.rack_unit)) * kRackUnitMm + 500;
  const auto height = static_cast<std::uint32_t>(p.model->height.value) * kRackUnitMm;
  const auto rise = [&](const Device& d) {
    return height - std::min<std::uint32_t>(height, d.rack_unit * kRackUnitMm);
  };
  const std::int64_t along = std::llabs(std::int64_t{p.column} - q.column) * p.model->width->count();
  const std::int64_t across = std::llabs(std::int64_t{p.row} - q.row) * spec_.site->row_pitch->count();
  const std::int64_t total = std::int64_t{rise(x)} + rise(y) + along + across + slack;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(total, 1'000'000'000));
}

}  // namespace weft::model
