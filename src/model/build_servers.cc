// Creates the hosts and racks of pools, and the hosts of fabric managers. Decides names and floor positions, which do
// not change when a pool grows: every pool has its own strip of the floor and grows away from the service racks.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/host_range.h"
#include "model/cluster_builder.h"

namespace weft::model {
namespace {

// Small pools that run no jobs are in the service racks, distributed over them.
bool stands_in_service_racks(const PoolSpec& pool) {
  if (pool.racks.has_value()) return pool.racks.value == "service";
  if (pool.per_rack.has_value()) return false;
  switch (pool.role.value) {
    case PoolRole::infrastructure:
    case PoolRole::login:
    case PoolRole::management:
    case PoolRole::jump:
      return true;
    default:
      return false;
  }
}

}  // namespace

void ClusterBuilder::add_pools() {
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    const PoolSpec& pool = spec_.pools.value[i];
    DeviceGroup group;
    group.name = pool.name->text;
    group.kind = DeviceKind::server;
    group.pool = static_cast<int>(i);
    group.server = catalog_.server(pool.server.value);
    const std::uint32_t id = add_group(std::move(group));
    pool_groups_.push_back(id);
    pool_in_service_racks_.push_back(stands_in_service_racks(pool));
    std::vector<std::string> names;
    if (pool.hosts.has_value()) {
      auto hosts = expand_hosts(pool.hosts.value);
      if (hosts.ok()) names = std::move(*hosts);
    }
    for (std::int64_t n = 0; n < pool.count.value; ++n) {
      add_device(id,
                 names.empty() ? fmt::format("{}{:03}", pool.name->text, n + 1) : names[static_cast<std::size_t>(n)]);
    }
    const auto gpus = static_cast<std::uint64_t>(cluster_->groups_[id].server->gpus.value);
    const std::uint64_t total = cluster_->gpu_count_ + gpus * static_cast<std::uint64_t>(pool.count.value);
    if (total > 4'000'000 || cluster_->devices_.size() > 2'000'000) {
      diagnostics_.error(pool.count.place, "more than 4 million GPUs or 2 million servers");
      return;
    }
    cluster_->gpu_count_ = static_cast<std::uint32_t>(total);
    apply_server_overrides(i);
  }
}

void ClusterBuilder::apply_server_overrides(std::size_t pool) {
  const PoolSpec& spec = spec_.pools.value[pool];
  if (spec.overrides->empty()) return;
  const DeviceGroup& group = cluster_->groups_[pool_groups_[pool]];
  std::unordered_map<std::string_view, DeviceId> hosts;
  for (std::uint32_t n = 0; n < group.count; ++n) {
    const auto id = static_cast<DeviceId>(index_of(group.first) + n);
    hosts.emplace(cluster_->name_of(id), id);
  }
  for (const HostOverride& change : spec.overrides.value) {
    auto named = expand_hosts(change.hosts.value);
    if (!named.ok()) continue;
    for (const std::string& host : *named) {
      const auto found = hosts.find(host);
      if (found == hosts.end()) {
        diagnostics_.error(change.hosts.place, fmt::format("pool `{}` has no host `{}`", spec.name->text, host), {},
                           change.hosts->size());
        break;
      }
      if (change.rack.has_value() && pool_in_service_racks_[pool]) {
        diagnostics_.error(change.rack.place, fmt::format("pool `{}` has no racks of its own", spec.name->text), {},
                           change.rack->size());
        break;
      }
      if (change.server.has_value()) {
        cluster_->server_overrides_[index_of(found->second)] = catalog_.server(change.server.value);
      }
    }
  }
}

void ClusterBuilder::add_managers() {
  for (const FabricKind kind : {FabricKind::backend, FabricKind::storage, FabricKind::frontend}) {
    const FabricSpec& fabric = fabric_spec(kind);
    if (fabric.managers->size() > 2) {
      diagnostics_.error(fabric.managers.place, "a fabric has at most two groups of managers");
      return;
    }
    for (const ManagerSpec& manager : fabric.managers.value) {
      if (kind == FabricKind::frontend) {
        diagnostics_.error(manager.place, "only backend and storage fabrics have managers",
                           "define a pool for frontend servers");
        continue;
      }
      DeviceGroup group;
      group.name = manager.name->text;
      group.kind = DeviceKind::server;
      group.fabric = kind;
      group.manager = true;
      group.server = catalog_.server(manager.server.value);
      const std::uint32_t id = add_group(std::move(group));
      for (std::int64_t n = 0; n < manager.count.value; ++n)
        add_device(id, fmt::format("{}{}", manager.name->text, n + 1));
      manager_groups_[static_cast<std::size_t>(kind)].emplace_back(id, &manager);
    }
  }
}

RackId ClusterBuilder::add_rack(std::string name, int pool, std::int32_t row, std::int32_t column, std::uint32_t pdus) {
  Rack rack;
  rack.model = catalog_.rack(spec_.site->rack.value);
  rack.name = std::move(name);
  rack.pool = pool;
  rack.row = row;
  rack.column = column;
  for (const RackSpec& change : spec_.racks.value) {
    if (change.name.value == rack.name && change.pdus.has_value()) pdus = static_cast<std::uint32_t>(change.pdus.value);
  }
  rack.pdus = pdus;
  const SiteSpec& site = spec_.site.value;
  const Power rating = catalog_.pdu(site.pdu.value)->rating.value;
  // With one feed lost, the PDUs on it are lost with it.
  const std::int64_t feeds = std::min<std::int64_t>(site.feeds.value, pdus);
  const std::int64_t lost = feeds > 1 ? (pdus + feeds - 1) / feeds : 0;
  rack.limit = site.rack_power.has_value() ? site.rack_power.value : rating * (std::int64_t{pdus} - lost);
  cluster_->racks_.push_back(std::move(rack));
  return static_cast<RackId>(cluster_->racks_.size() - 1);
}

std::int64_t ClusterBuilder::servers_per_rack(const PoolSpec& pool, const ServerModel& server) const {
  const SiteSpec& site = spec_.site.value;
  const std::int64_t by_height = catalog_.rack(site.rack.value)->height.value / server.height.value;
  if (pool.per_rack.has_value()) return pool.per_rack.value;
  const std::int64_t pdus = pool.pdus_per_rack.value;
  const std::int64_t feeds = std::min(site.feeds.value, pdus);
  const std::int64_t lost = feeds > 1 ? (pdus + feeds - 1) / feeds : 0;
  const Power limit =
      site.rack_power.has_value() ? site.rack_power.value : catalog_.pdu(site.pdu.value)->rating.value * (pdus - lost);
  return std::max<std::int64_t>(1, std::min(by_height, limit / std::max(server.power.value, Power(1))));
}

void ClusterBuilder::place_pool(std::size_t pool) {
  if (pool_in_service_racks_[pool]) return;
  const PoolSpec& spec = spec_.pools.value[pool];
  const SiteSpec& site = spec_.site.value;
  const DeviceGroup& group = cluster_->groups_[pool_groups_[pool]];
  const ServerModel& server = *group.server;
  const RackModel& model = *catalog_.rack(site.rack.value);
  const std::int64_t each = servers_per_rack(spec, server);
  if (each * server.height.value > model.height.value) {
    diagnostics_.error(
        spec.per_rack.place.known() ? spec.per_rack.place : spec.place,
        fmt::format("{} servers of {}U do not fit in a rack of {}U", each, server.height.value, model.height.value));
    return;
  }
  const auto count = static_cast<std::int64_t>((group.count + each - 1) / each);
  std::vector<std::string> names;
  if (spec.racks.has_value()) {
    auto expanded = expand_hosts(spec.racks.value);
    if (expanded.ok()) names = std::move(*expanded);
    if (static_cast<std::int64_t>(names.size()) < count) {
      diagnostics_.error(spec.racks.place,
                         fmt::format("`racks` lists {} racks, but {} servers at {} per rack need {}", names.size(),
                                     group.count, each, count),
                         {}, spec.racks->size());
      return;
    }
  }
  // Each pool has a strip of the floor, two columns apart from the next, and its rows grow away from the service rows.
  const std::int64_t row_length = site.row_length.value;
  const auto strip = static_cast<std::int64_t>(pool) * (row_length + 4);
  std::vector<RackId> racks;
  for (std::int64_t r = 0; r < count; ++r) {
    racks.push_back(add_rack(
        names.empty() ? fmt::format("{}-r{:03}", spec.name->text, r + 1) : names[static_cast<std::size_t>(r)],
        static_cast<int>(pool), static_cast<std::int32_t>(r / row_length),
        static_cast<std::int32_t>(strip + r % row_length), static_cast<std::uint32_t>(spec.pdus_per_rack.value)));
  }
  std::vector<RackId> rack_of(group.count);
  for (std::uint32_t n = 0; n < group.count; ++n) rack_of[n] = racks[n / static_cast<std::size_t>(each)];
  apply_rack_overrides(pool, rack_of);
  for (std::uint32_t n = 0; n < group.count; ++n) {
    const auto id = static_cast<DeviceId>(index_of(group.first) + n);
    const ServerModel& actual = cluster_->server_of(id);
    Rack& rack = cluster_->racks_[index_of(rack_of[n])];
    if (rack.used_units + static_cast<std::uint32_t>(actual.height.value) >
        static_cast<std::uint32_t>(model.height.value)) {
      diagnostics_.error(spec.overrides.place,
                         fmt::format("rack `{}` has no free space for `{}`", rack.name, cluster_->name_of(id)));
      return;
    }
    dev(id).rack = rack_of[n];
    dev(id).rack_unit = static_cast<std::uint16_t>(rack.used_units + 1);
    rack.used_units += static_cast<std::uint32_t>(actual.height.value);
    rack.power += actual.power.value;
  }
  for (const RackId id : racks) {
    const Rack& rack = cluster_->racks_[index_of(id)];
    if (rack.power <= rack.limit) continue;
    diagnostics_.warning(spec.per_rack.place.known() ? spec.per_rack.place : spec.place,
                         fmt::format("rack `{}` draws {} of {}{}", rack.name, about(rack.power), about(rack.limit),
                                     site.rack_power.has_value() ? "" : " that its PDUs can supply with one feed lost"),
                         "use fewer servers per rack, more or larger PDUs, or raise `site.rack_power`");
    break;
  }
}

void ClusterBuilder::apply_rack_overrides(std::size_t pool, std::vector<RackId>& rack_of) {
  const PoolSpec& spec = spec_.pools.value[pool];
  const DeviceGroup& group = cluster_->groups_[pool_groups_[pool]];
  for (const HostOverride& change : spec.overrides.value) {
    if (!change.rack.has_value()) continue;
    RackId target = kNone<RackId>;
    for (std::size_t r = 0; r < cluster_->racks_.size(); ++r) {
      if (cluster_->racks_[r].name == change.rack.value) target = static_cast<RackId>(r);
    }
    if (target == kNone<RackId> || cluster_->rack(target).pool != static_cast<int>(pool)) {
      diagnostics_.error(change.rack.place,
                         fmt::format("pool `{}` has no rack `{}`", spec.name->text, change.rack.value), {},
                         change.rack->size());
      continue;
    }
    auto hosts = expand_hosts(change.hosts.value);
    if (!hosts.ok()) continue;
    for (const std::string& host : *hosts) {
      for (std::uint32_t n = 0; n < group.count; ++n) {
        if (cluster_->names_[index_of(group.first) + n] == host) rack_of[n] = target;
      }
    }
  }
}

// Every rack has PDUs, named after it. Called when all racks exist. One group per pool's racks, one for the service
// racks in its rows, one for the central zone: growth of one changes no address of another.
void ClusterBuilder::add_pdus() {
  const PduModel* model = catalog_.pdu(spec_.site->pdu.value);
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> next_in_row;
  const auto add = [&](const std::string& name, int pool, const std::vector<std::size_t>& racks) {
    if (racks.empty()) return;
    DeviceGroup group;
    group.name = name;
    group.kind = DeviceKind::pdu;
    group.pool = pool;
    group.pdu = model;
    const std::uint32_t id = add_group(std::move(group));
    for (const std::size_t r : racks) {
      cluster_->racks_[r].first_pdu = static_cast<DeviceId>(cluster_->devices_.size());
      for (std::uint32_t p = 0; p < cluster_->racks_[r].pdus; ++p) {
        const DeviceId pdu = add_device(id, fmt::format("{}-pdu{}", cluster_->racks_[r].name, p + 1));
        dev(pdu).rack = static_cast<RackId>(r);
        if (rack_zone_pool_[r] >= 0) {
          const auto row = static_cast<std::uint32_t>(cluster_->racks_[r].row);
          row_number_[index_of(pdu)] = row * kRowStride + next_in_row[{pool, row}]++;
        }
      }
    }
  };
  const std::size_t pools = spec_.pools->size();
  std::vector<std::vector<std::size_t>> own(pools);
  std::vector<std::vector<std::size_t>> rows(pools);
  std::vector<std::size_t> central;
  for (std::size_t r = 0; r < cluster_->racks_.size(); ++r) {
    const int pool = cluster_->racks_[r].pool;
    const int row_pool = rack_zone_pool_[r];
    (pool >= 0       ? own[static_cast<std::size_t>(pool)]
     : row_pool >= 0 ? rows[static_cast<std::size_t>(row_pool)]
                     : central)
        .push_back(r);
  }
  for (std::size_t p = 0; p < pools; ++p) {
    const std::string& name = spec_.pools.value[p].name->text;
    add(name + "-pdu", static_cast<int>(p), own[p]);
    add(name + "-row-pdu", static_cast<int>(p), rows[p]);
  }
  add("service-pdu", -1, central);
}

// Each power supply has its own outlet. Service racks are filled by height alone.
void ClusterBuilder::check_outlets() {
  std::vector<std::int64_t> supplies(cluster_->racks_.size());
  for (const Device& device : cluster_->devices_) {
    const DeviceGroup& group = cluster_->groups_[device.group];
    if (device.rack == kNone<RackId>) continue;
    if (group.server != nullptr) supplies[index_of(device.rack)] += group.server->psus.value;
  }
  for (std::size_t r = 0; r < supplies.size(); ++r) {
    const Rack& rack = cluster_->racks_[r];
    const std::int64_t outlets = catalog_.pdu(spec_.site->pdu.value)->outlets.value * rack.pdus;
    if (rack.pool < 0 || supplies[r] <= outlets) continue;
    diagnostics_.warning(
        spec_.site->pdu.place.known() ? spec_.site->pdu.place : spec_.place,
        fmt::format("rack `{}` has {} power supplies, but its PDUs have {} outlets", rack.name, supplies[r], outlets),
        "use fewer servers per rack, or more or larger PDUs");
    break;
  }
}

}  // namespace weft::model
