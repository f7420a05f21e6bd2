#include "model/cluster_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::model {

PortUse port_use(FabricKind kind) {
  switch (kind) {
    case FabricKind::backend:
      return PortUse::backend;
    case FabricKind::storage:
      return PortUse::storage;
    case FabricKind::frontend:
      return PortUse::frontend;
    case FabricKind::oob:
      break;
  }
  return PortUse::oob;
}

const char* short_name(FabricKind kind) {
  static constexpr const char* kNames[] = {"be", "sto", "fe", "oob"};
  return kNames[static_cast<std::size_t>(kind)];
}

PortMode find_mode(const SwitchModel& model, BitRate speed, const std::optional<Breakout>& wanted,
                   const std::function<bool(const CageEnd&)>& allowed) {
  PortMode best;
  std::uint32_t first = 0;
  for (const CageGroup& cages : model.cages.value) {
    for (const Breakout& mode : cages.breakouts.value) {
      if (mode.speed != speed || (wanted && *wanted != mode)) continue;
      if (allowed && !allowed({cages.form.value, static_cast<std::uint32_t>(mode.ports)})) continue;
      PortMode candidate;
      candidate.cages = &cages;
      candidate.first_cage = first;
      candidate.per_cage = static_cast<std::uint32_t>(mode.ports);
      candidate.lanes_each = static_cast<std::uint32_t>(cages.lanes.value) / candidate.per_cage;
      candidate.speed = speed;
      if (candidate.ports() > best.ports()) best = candidate;
    }
    first += static_cast<std::uint32_t>(cages.count.value);
  }
  return best;
}

SwitchCapacity capacity(const PortMode& down, const PortMode& up) {
  SwitchCapacity out;
  out.down_cages = static_cast<std::uint32_t>(down.cages->count.value);
  out.down_per_cage = down.per_cage;
  out.up_cages = static_cast<std::uint32_t>(up.cages->count.value);
  out.up_per_cage = up.per_cage;
  out.shared = down.cages == up.cages;
  return out;
}

ClusterBuilder::ClusterBuilder(Spec spec, std::shared_ptr<const Catalog> catalog, Diagnostics& diagnostics)
    : diagnostics_(diagnostics),
      errors_before_(diagnostics.error_count()),
      cluster_(new Cluster()),
      spec_(cluster_->spec_),
      catalog_(*catalog),
      media_(*catalog) {
  cluster_->spec_ = std::move(spec);
  cluster_->catalog_ = std::move(catalog);
}

std::shared_ptr<const Cluster> ClusterBuilder::build() {
  add_pools();
  add_managers();
  if (failed()) return nullptr;
  for (std::size_t pool = 0; pool < spec_.pools->size(); ++pool) place_pool(pool);
  if (failed()) return nullptr;
  build_rail_fabric(FabricKind::backend);
  build_rail_fabric(FabricKind::storage);
  if (failed()) return nullptr;
  make_zones();
  size_zones();
  if (failed()) return nullptr;
  build_frontend(frontend_size_);
  build_oob();
  if (failed()) return nullptr;
  apply_cable_overrides();
  if (failed()) return nullptr;
  lay_cables();
  if (failed()) return nullptr;
  index();
  assign_addresses();
  if (failed()) return nullptr;
  count_cages();
  for (const Rack& rack : cluster_->racks_) cluster_->total_power_ += rack.power;
  return cluster_;
}

// A device's number for addresses: its index in the group, or a number in its row's block.
std::uint32_t ClusterBuilder::number_of(DeviceId id) const {
  const auto found = row_number_.find(index_of(id));
  return found == row_number_.end() ? cluster_->device(id).index : found->second;
}

std::uint32_t ClusterBuilder::add_group(DeviceGroup group) {
  group.first = static_cast<DeviceId>(cluster_->devices_.size());
  cluster_->groups_.push_back(std::move(group));
  return static_cast<std::uint32_t>(cluster_->groups_.size() - 1);
}

// All devices of a group are added before the next group begins.
DeviceId ClusterBuilder::add_device(std::uint32_t group, std::string name) {
  DeviceGroup& owner = cluster_->groups_[group];
  CHECK(index_of(owner.first) + owner.count == cluster_->devices_.size(), "groups of devices are contiguous");
  const auto id = static_cast<DeviceId>(cluster_->devices_.size());
  Device device;
  device.group = group;
  device.index = owner.count++;
  cluster_->devices_.push_back(device);
  cluster_->names_.push_back(std::move(name));
  return id;
}

void ClusterBuilder::index() {
  Cluster& cluster = *cluster_;
  const std::size_t devices = cluster.devices_.size();
  cluster.by_name_.reserve(devices);
  for (std::size_t i = 0; i < devices; ++i) {
    const auto [at, added] = cluster.by_name_.emplace(cluster.names_[i], static_cast<DeviceId>(i));
    if (!added) {
      const DeviceGroup& group = cluster.groups_[cluster.devices_[i].group];
      const SourceLocation place =
          group.pool >= 0 ? spec_.pools.value[static_cast<std::size_t>(group.pool)].place : spec_.place;
      diagnostics_.error(place, fmt::format("two devices are named `{}`", cluster.names_[i]),
                         "rename a pool or give its hosts other names");
    }
  }
  // Ports of each device, in cage order: counting sort by device, then a short sort per device.
  cluster.port_offsets_.assign(devices + 1, 0);
  for (const Port& p : cluster.ports_) ++cluster.port_offsets_[index_of(p.device) + 1];
  for (std::size_t i = 0; i < devices; ++i) cluster.port_offsets_[i + 1] += cluster.port_offsets_[i];
  cluster.port_order_.resize(cluster.ports_.size());
  std::vector<std::uint32_t> next(cluster.port_offsets_.begin(), cluster.port_offsets_.end() - 1);
  for (std::size_t i = 0; i < cluster.ports_.size(); ++i) {
    cluster.port_order_[next[index_of(cluster.ports_[i].device)]++] = static_cast<PortId>(i);
  }
  const auto cage_order = [&](PortId a, PortId b) {
    const Port& x = cluster.ports_[index_of(a)];
    const Port& y = cluster.ports_[index_of(b)];
    return std::pair(x.cage, x.lane) < std::pair(y.cage, y.lane);
  };
  for (std::size_t i = 0; i < devices; ++i) {
    std::sort(cluster.port_order_.begin() + cluster.port_offsets_[i],
              cluster.port_order_.begin() + cluster.port_offsets_[i + 1], cage_order);
  }
  // Devices of each rack, from the bottom; zero-U devices last.
  cluster.rack_offsets_.assign(cluster.racks_.size() + 1, 0);
  for (const Device& d : cluster.devices_) {
    if (d.rack != kNone<RackId>) ++cluster.rack_offsets_[index_of(d.rack) + 1];
  }
  for (std::size_t i = 0; i < cluster.racks_.size(); ++i) cluster.rack_offsets_[i + 1] += cluster.rack_offsets_[i];
  cluster.rack_order_.resize(cluster.rack_offsets_.back());
  next.assign(cluster.rack_offsets_.begin(), cluster.rack_offsets_.end() - 1);
  for (std::size_t i = 0; i < devices; ++i) {
    const RackId rack = cluster.devices_[i].rack;
    if (rack != kNone<RackId>) cluster.rack_order_[next[index_of(rack)]++] = static_cast<DeviceId>(i);
  }
  const auto height_order = [&](DeviceId a, DeviceId b) {
    const auto unit = [&](DeviceId id) {
      return static_cast<std::uint16_t>(cluster.devices_[index_of(id)].rack_unit - 1);
    };
    return std::pair(unit(a), index_of(a)) < std::pair(unit(b), index_of(b));
  };
  for (std::size_t i = 0; i < cluster.racks_.size(); ++i) {
    std::sort(cluster.rack_order_.begin() + cluster.rack_offsets_[i],
              cluster.rack_order_.begin() + cluster.rack_offsets_[i + 1], height_order);
  }
}

// Counts plugs, for cable counts by cage: a twin-port cage has one plug.
void ClusterBuilder::count_cages() {
  Cluster& cluster = *cluster_;
  for (std::size_t i = 0; i < cluster.devices_.size(); ++i) {
    std::uint32_t last_host = UINT32_MAX;
    std::uint32_t last_up = UINT32_MAX;
    std::uint32_t last_core = UINT32_MAX;
    for (const PortId id : cluster.ports_of(static_cast<DeviceId>(i))) {
      const Port& p = cluster.ports_[index_of(id)];
      const Cable& c = cluster.cables_[index_of(p.cable)];
      FabricPlan& plan = plan_of(c.fabric);
      if (c.a != id) continue;
      if (c.role == CableRole::host_leaf && std::exchange(last_host, p.cage) != p.cage) ++plan.host_cages;
      if (c.role == CableRole::leaf_spine && std::exchange(last_up, p.cage) != p.cage) ++plan.leaf_spine_cages;
      if (c.role == CableRole::spine_core && std::exchange(last_core, p.cage) != p.cage) ++plan.spine_core_cages;
    }
  }
}

std::shared_ptr<const Cluster> compile(Spec spec, std::shared_ptr<const Catalog> catalog, Diagnostics& diagnostics) {
  return ClusterBuilder(std::move(spec), std::move(catalog), diagnostics).build();
}

}  // namespace weft::model
