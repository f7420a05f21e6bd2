#include "design/storage_delivery.h"

#include <algorithm>
#include <map>

namespace weft::design {

namespace {

const model::PoolSpec& pool_at(const model::Cluster& cluster, int pool) {
  return (*cluster.spec().pools)[static_cast<std::size_t>(pool)];
}

bool is_storage_pool(const model::Cluster& cluster, const model::DeviceGroup& group) {
  return group.pool >= 0 && *pool_at(cluster, group.pool).role == model::PoolRole::storage;
}

// Host ports of one leaf, by rail: those of the system's servers and those of all its clients.
struct LeafPorts {
  std::map<std::uint8_t, Bytes> servers;
  std::map<std::uint8_t, Bytes> clients;
  Bytes uplinks;
};

struct StorageLinks {
  std::map<model::DeviceId, LeafPorts> leaves;
  std::map<std::uint8_t, Bytes> server_rails;
  std::map<std::uint8_t, Bytes> client_rails;
  Bytes servers;
  Bytes clients;
};

StorageLinks links_of_pool(const model::Cluster& cluster, int pool) {
  StorageLinks links;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != model::FabricKind::storage) continue;
    const model::Port& near = cluster.port(cable.a);
    const model::Port& far = cluster.port(cable.b);
    if (cable.role == model::CableRole::host_leaf) {
      const model::DeviceGroup& group = cluster.group_of(near.device);
      const Bytes rate = bytes_per_second(near);
      if (group.pool == pool) {
        links.leaves[far.device].servers[near.rail] += rate;
        links.server_rails[near.rail] += rate;
        links.servers += rate;
      } else if (!is_storage_pool(cluster, group)) {
        links.leaves[far.device].clients[near.rail] += rate;
        links.client_rails[near.rail] += rate;
        links.clients += rate;
      }
    } else if (cable.role == model::CableRole::leaf_spine) {
      links.leaves[near.device].uplinks += bytes_per_second(near);
    } else if (cable.role == model::CableRole::peer) {
      links.leaves[near.device].uplinks += bytes_per_second(near);
      links.leaves[far.device].uplinks += bytes_per_second(far);
    }
  }
  return links;
}

double share(const std::map<std::uint8_t, Bytes>& rails, std::uint8_t rail, Bytes whole) {
  const auto found = rails.find(rail);
  if (found == rails.end() || whole.count() == 0) return 0.0;
  return static_cast<double>(found->second.count()) / static_cast<double>(whole.count());
}

// Total throughput at which the first leaf's uplinks are saturated, if every server serves every client of its rail
// equally: traffic from a leaf's servers to clients elsewhere goes up, traffic to its clients from servers elsewhere
// comes down.
std::optional<Bytes> uplink_bound(const StorageLinks& links) {
  std::optional<Bytes> bound;
  for (const auto& [leaf, ports] : links.leaves) {
    double up = 0.0;
    double down = 0.0;
    for (const auto& [rail, whole] : links.server_rails) {
      const auto clients = links.client_rails.find(rail);
      if (clients == links.client_rails.end()) continue;
      const double weight = static_cast<double>(whole.count()) / static_cast<double>(links.servers.count());
      const double served = share(ports.servers, rail, whole);
      const double taken = share(ports.clients, rail, clients->second);
      up += weight * served * (1.0 - taken);
      down += weight * taken * (1.0 - served);
    }
    const double crossing = std::max(up, down);
    if (crossing < 1e-9) continue;
    const Bytes limit(static_cast<std::int64_t>(static_cast<double>(ports.uplinks.count()) / crossing));
    if (!bound || limit < *bound) bound = limit;
  }
  return bound;
}

void bound_by_links(StorageDelivery& delivery, StorageBound& bound) {
  bound.limit(delivery.server_links, kByServerLinks);
  bound.limit(delivery.client_links, kByClientLinks);
  if (delivery.uplinks) bound.limit(*delivery.uplinks, kByUplinks);
}

}  // namespace

Bytes bytes_per_second(const model::Port& port) { return Bytes(std::int64_t{port.speed_mbps} * 125'000); }

StorageDelivery delivery_of(const model::Cluster& cluster, const model::StorageSpec& system) {
  StorageDelivery delivery;
  delivery.system = &system;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0 || pool_at(cluster, group.pool).name->text != *system.pool) continue;
    delivery.server = group.server;
    delivery.servers = group.count;
    delivery.local = !is_storage_pool(cluster, group);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const model::ServerModel& server =
          cluster.server_of(static_cast<model::DeviceId>(model::index_of(group.first) + i));
      delivery.server_read += server.read->per_second;
      delivery.server_write += server.write->per_second;
      delivery.capacity += *server.capacity;
      delivery.metadata_iops += *server.metadata_iops;
    }
    const StorageLinks links = links_of_pool(cluster, group.pool);
    delivery.server_links = links.servers;
    delivery.client_links = links.clients;
    delivery.uplinks = uplink_bound(links);
  }
  if (system.capacity.has_value()) delivery.capacity = *system.capacity;
  const bool read_stated = system.read.from_file();
  const bool write_stated = system.write.from_file();
  if (read_stated) delivery.server_read = system.read->per_second;
  if (write_stated) delivery.server_write = system.write->per_second;
  delivery.read.limit(delivery.server_read, read_stated ? kByStated : kByServers);
  delivery.write.limit(delivery.server_write, write_stated ? kByStated : kByServers);
  if (delivery.local) return delivery;  // node-local drives: no traffic crosses a link
  bound_by_links(delivery, delivery.read);
  bound_by_links(delivery, delivery.write);
  return delivery;
}

bool feeds_gpus(const StorageDelivery& delivery) {
  return !delivery.local && *delivery.system->tier != model::StorageTier::cold;
}

StorageSupply supply_of(const std::vector<StorageDelivery>& deliveries) {
  StorageSupply supply;
  Bytes clients;
  for (const StorageDelivery& delivery : deliveries) {
    if (!feeds_gpus(delivery)) continue;
    if (delivery.read.rate >= supply.read.rate) supply.read.by = delivery.read.by;
    if (delivery.write.rate >= supply.write.rate) supply.write.by = delivery.write.by;
    supply.read.rate += delivery.read.rate;
    supply.write.rate += delivery.write.rate;
    clients = delivery.client_links;
  }
  if (supply.read.rate.count() > 0) supply.read.limit(clients, kByClientLinks);
  if (supply.write.rate.count() > 0) supply.write.limit(clients, kByClientLinks);
  return supply;
}

}  // namespace weft::design
