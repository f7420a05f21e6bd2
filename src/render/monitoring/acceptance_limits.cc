#include <algorithm>

#include "render/monitoring/acceptance.h"

namespace weft::render::acceptance {
namespace {

struct Links {
  std::vector<std::string> devices;
  std::int64_t mbps = 0;  // of one link
  std::int64_t sum = 0;
};

Links links_of(const model::Cluster& cluster, const PoolPlan& pool, model::FabricKind fabric) {
  Links out;
  for (const RailPlan& rail : pool.rails) {
    if (rail.fabric == fabric) out.devices.push_back(rail.rdma_device);
  }
  for (const model::PortId id : cluster.ports_of(pool.group->first)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric != fabric) continue;
    out.mbps = out.mbps == 0 ? port.speed_mbps : std::min<std::int64_t>(out.mbps, port.speed_mbps);
    out.sum += port.speed_mbps;
  }
  return out;
}

std::int64_t share(std::int64_t whole, int percent) { return whole * percent / 100; }

int port_percent(const watch::Watch& watch, model::FabricKind fabric) {
  return watch.fabric(fabric).ethernet ? kRocePercent : kInfinibandPercent;
}

}  // namespace

std::vector<PoolLimits> pool_limits(const watch::Watch& watch) {
  std::vector<PoolLimits> out;
  for (const PoolPlan& pool : watch.plan().pools()) {
    PoolLimits limits;
    limits.pool = &pool;
    const Links backend = links_of(watch.cluster(), pool, model::FabricKind::backend);
    const Links storage = links_of(watch.cluster(), pool, model::FabricKind::storage);
    limits.backend_devices = backend.devices;
    limits.storage_devices = storage.devices;
    limits.backend_mbps = backend.mbps;
    limits.storage_mbps = storage.mbps;
    limits.backend_least = share(backend.mbps, port_percent(watch, model::FabricKind::backend));
    limits.storage_least = share(storage.mbps, port_percent(watch, model::FabricKind::storage));
    if (pool.has_gpus() && pool.spec->mig.value.empty()) {
      const std::int64_t network = backend.sum / 8;  // MB/s, all ports
      const bool nvlink = pool.gpu->nvlink_bandwidth.has_value() && pool.server->gpus.value > 1;
      // nvlink_bandwidth counts both directions.
      const std::int64_t one_way = nvlink ? pool.gpu->nvlink_bandwidth->per_second.count() / 2'000'000 : 0;
      const std::int64_t bottleneck = nvlink ? std::min(network, one_way) : 0;
      limits.all_reduce_least = share(bottleneck, kCollectivePercent);
      limits.in_server_least = share(one_way, kNvlinkPercent);
      limits.all_to_all_least = nvlink ? share(network / pool.server->gpus.value, kAllToAllPercent) : 0;
    }
    out.push_back(std::move(limits));
  }
  return out;
}

std::vector<StorageLimits> storage_limits(const watch::Watch& watch) {
  std::int64_t node_links = 0;  // bytes per second of the slowest client
  std::int64_t all_links = 0;
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (pool.spec->role.value == model::PoolRole::storage || !pool.has_gpus()) continue;
    const std::int64_t bytes = links_of(watch.cluster(), pool, model::FabricKind::storage).sum * 125'000;
    if (bytes == 0) continue;
    node_links = node_links == 0 ? bytes : std::min(node_links, bytes);
    all_links += bytes * pool.group->count;
  }
  std::vector<StorageLimits> out;
  for (const model::StorageSpec& system : watch.cluster().spec().storage.value) {
    const PoolPlan* servers = watch.plan().pool(system.pool.value);
    const std::int64_t count = servers == nullptr ? 0 : servers->group->count;
    const Bytes read = system.read.has_value() ? system.read->per_second
                       : servers == nullptr    ? Bytes{}
                                               : servers->server->read->per_second * count;
    const Bytes write = system.write.has_value() ? system.write->per_second
                        : servers == nullptr     ? Bytes{}
                                                 : servers->server->write->per_second * count;
    StorageLimits limits;
    limits.system = &system;
    limits.node_read = std::min(read, Bytes(node_links));
    limits.node_write = std::min(write, Bytes(node_links));
    limits.all_read = std::min(read, Bytes(all_links));
    limits.all_write = std::min(write, Bytes(all_links));
    out.push_back(limits);
  }
  return out;
}

}  // namespace weft::render::acceptance
