#include "workload/storage/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weft::workload {
namespace {

const model::PoolSpec& pool_of(const model::Cluster& cluster, const model::DeviceGroup& group) {
  return (*cluster.spec().pools)[static_cast<std::size_t>(group.pool)];
}

std::string pool_name(const model::Cluster& cluster, model::DeviceId device) {
  const model::DeviceGroup& group = cluster.group_of(device);
  return group.pool < 0 ? group.name : pool_of(cluster, group).name->text;
}

double rate_of(const model::Port& port) { return static_cast<double>(port.speed_mbps) * 125'000; }

double links_of(const model::Cluster& cluster, model::DeviceId device, model::FabricKind fabric) {
  double sum = 0;
  for (const model::PortId id : cluster.ports_of(device)) {
    if (cluster.port(id).fabric == fabric) sum += rate_of(cluster.port(id));
  }
  return sum;
}

double links_of(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices, model::FabricKind fabric) {
  double sum = 0;
  for (const model::DeviceId device : devices) sum += links_of(cluster, device, fabric);
  return sum;
}

struct Found {
  const model::StorageSpec* system = nullptr;
  const model::VolumeSpec* volume = nullptr;
};

Found find_volume(const model::Spec& spec, std::string_view name) {
  for (const model::StorageSpec& system : *spec.storage) {
    for (const model::VolumeSpec& volume : *system.volumes) {
      if (volume.name->text == name) return {&system, &volume};
    }
  }
  return {};
}

std::string volume_names(const model::Spec& spec) {
  std::string names;
  for (const model::StorageSpec& system : *spec.storage) {
    for (const model::VolumeSpec& volume : *system.volumes) names += (names.empty() ? "" : ", ") + volume.name->text;
  }
  return names.empty() ? "the cluster file lists no volumes" : "volumes are " + names;
}

Result<Found> choose_volume(const model::Spec& spec, const model::JobSpec& job,
                            const model::Sourced<std::string>& wanted, model::VolumePurpose purpose,
                            std::string_view key) {
  if (wanted.has_value()) {
    const Found found = find_volume(spec, *wanted);
    if (found.volume != nullptr) return found;
    return Error{ErrorCode::not_found, fmt::format("no volume `{}`: {}", *wanted, volume_names(spec)),
                 std::string(key)};
  }
  for (const model::JobMountSpec& mount : *job.mounts) {
    const Found found = find_volume(spec, *mount.volume);
    if (found.volume != nullptr && *found.volume->purpose == purpose) return found;
  }
  for (const model::StorageSpec& system : *spec.storage) {
    if (*system.tier != model::StorageTier::cold) return Found{&system, nullptr};
  }
  return Found{};
}

// Port rates of one leaf by rail: storage servers, clients, and the total of its uplinks.
struct LeafPorts {
  std::map<std::uint8_t, double> servers;
  std::map<std::uint8_t, double> clients;
  double uplinks = 0;
};

double share(const std::map<std::uint8_t, double>& rails, std::uint8_t rail, double whole) {
  const auto found = rails.find(rail);
  return found == rails.end() || whole <= 0 ? 0.0 : found->second / whole;
}

struct FabricPorts {
  std::map<model::DeviceId, LeafPorts> leaves;
  std::map<std::uint8_t, double> server_rails;
  std::map<std::uint8_t, double> client_rails;
  double servers = 0;
};

FabricPorts ports_of(const model::Cluster& cluster, const StoragePath& path) {
  std::vector<char> side(cluster.devices().size(), 0);
  for (const model::DeviceId id : path.clients) side[model::index_of(id)] = 1;
  for (const model::DeviceId id : path.servers) side[model::index_of(id)] = 2;
  FabricPorts ports;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != path.fabric) continue;
    const model::Port& near = cluster.port(cable.a);
    const model::Port& far = cluster.port(cable.b);
    if (cable.role == model::CableRole::host_leaf) {
      LeafPorts& leaf = ports.leaves[far.device];
      const char who = side[model::index_of(near.device)];
      if (who == 1) {
        leaf.clients[near.rail] += rate_of(near);
        ports.client_rails[near.rail] += rate_of(near);
      } else if (who == 2) {
        leaf.servers[near.rail] += rate_of(near);
        ports.server_rails[near.rail] += rate_of(near);
        ports.servers += rate_of(near);
      }
    } else if (cable.role == model::CableRole::leaf_spine) {
      ports.leaves[near.device].uplinks += rate_of(near);
    } else if (cable.role == model::CableRole::peer) {
      ports.leaves[near.device].uplinks += rate_of(near);
      ports.leaves[far.device].uplinks += rate_of(far);
    }
  }
  return ports;
}

// The rate at which the first leaf's uplinks saturate when every server sends evenly to every client of its rail: the
// same rule as `weft show storage`, for the clients of one job.
std::optional<double> uplink_bound(const FabricPorts& ports) {
  std::optional<double> bound;
  for (const auto& [leaf, here] : ports.leaves) {
    double up = 0;
    double down = 0;
    for (const auto& [rail, whole] : ports.server_rails) {
      const auto clients = ports.client_rails.find(rail);
      if (clients == ports.client_rails.end()) continue;
      const double served = share(here.servers, rail, whole);
      const double taken = share(here.clients, rail, clients->second);
      up += whole / ports.servers * served * (1 - taken);
      down += whole / ports.servers * taken * (1 - served);
    }
    const double crossing = std::max(up, down);
    if (crossing < 1e-9) continue;
    const double limit = here.uplinks / crossing;
    if (!bound || limit < *bound) bound = limit;
  }
  return bound;
}

// Possible gateways: head nodes mount storage if GPU servers are not on its fabric.
std::vector<model::DeviceId> head_nodes(const model::Cluster& cluster) {
  std::vector<model::DeviceId> heads;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0) continue;
    const model::PoolRole role = *pool_of(cluster, group).role;
    if (role != model::PoolRole::infrastructure && role != model::PoolRole::cpu) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      if (links_of(cluster, id, model::FabricKind::storage) > 0) heads.push_back(id);
    }
  }
  return heads;
}

Status choose_fabric(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts, StoragePath& path) {
  for (const model::FabricKind fabric : {model::FabricKind::storage, model::FabricKind::frontend}) {
    path.client_links = links_of(cluster, hosts, fabric);
    path.server_links = links_of(cluster, path.servers, fabric);
    if (path.client_links <= 0 || path.server_links <= 0) continue;
    path.fabric = fabric;
    path.clients = hosts;
    path.client_pool = pool_name(cluster, hosts.front());
    return {};
  }
  path.fabric = model::FabricKind::storage;
  path.clients = head_nodes(cluster);
  path.client_links = links_of(cluster, path.clients, path.fabric);
  path.server_links = links_of(cluster, path.servers, path.fabric);
  if (path.client_links > 0 && path.server_links > 0) {
    path.client_pool = pool_name(cluster, path.clients.front());
    path.gateways = true;
    return {};
  }
  const std::string pool = pool_name(cluster, hosts.front());
  return Error{
      ErrorCode::invalid_input,
      fmt::format("servers of pool `{0}` cannot reach storage system `{1}`: they share no fabric with its pool "
                  "`{2}`, and no head node connects them (set `pools.{0}.links.storage: 2`)",
                  pool, path.system->name->text, path.pool),
      cluster.name()};
}

// Drives of GPU servers have no rating in the catalog. 3.84 TB each, as in a DGX H100 (its user guide), PCIe 4 x4: 6.8
// GB/s read, 4.0 GB/s write (Samsung PM9A3 data sheet, 3.84 TB).
constexpr double kDriveBytes = 3.84e12;
constexpr double kDriveRead = 6.8e9;
constexpr double kDriveWrite = 4.0e9;

void rate_servers(const model::Cluster& cluster, StoragePath& path) {
  double iops = 0;
  for (const model::DeviceId id : path.servers) {
    const model::ServerModel& server = cluster.server_of(id);
    const double drives =
        path.local ? std::max(1.0, static_cast<double>(server.local_nvme->count()) / kDriveBytes) : 0.0;
    const auto rated = [&](const model::Sourced<model::ByteRate>& rate, double drive) {
      const auto stated = static_cast<double>(rate->per_second.count());
      return stated > 0 ? stated : drives * drive;
    };
    path.read += rated(server.read, kDriveRead);
    path.write += rated(server.write, kDriveWrite);
    iops += static_cast<double>(*server.metadata_iops);
  }
  const model::StorageSpec& system = *path.system;
  path.read_stated = system.read.from_file();
  path.write_stated = system.write.from_file();
  if (path.read_stated) path.read = static_cast<double>(system.read->per_second.count());
  if (path.write_stated) path.write = static_cast<double>(system.write->per_second.count());
  path.targets = std::max<std::int64_t>(
      1, system.targets.has_value() ? *system.targets : static_cast<std::int64_t>(path.servers.size()));
  // Dedicated metadata servers are rated like this many servers of the pool; an unstriped directory is on one of them.
  // Without any, every server serves its part.
  const auto servers = static_cast<double>(path.servers.size());
  auto serving = static_cast<double>(*system.metadata_servers);
  if (serving <= 0) serving = servers;
  if (!*system.metadata_striping) serving = 1;
  path.opens = servers > 0 ? iops / servers * serving : 0.0;
}

// How to widen a pool's links: more links if the server has free ports, faster ones if its NICs support it, else other
// servers.
std::string widen_links(const model::Cluster& cluster, const StoragePath& path) {
  const model::ServerModel& server = cluster.server_of(path.clients.front());
  const model::PortUse use =
      path.fabric == model::FabricKind::frontend ? model::PortUse::frontend : model::PortUse::storage;
  std::int64_t built = 0;
  BitRate speed;
  for (const model::PortId id : cluster.ports_of(path.clients.front())) {
    if (cluster.port(id).fabric != path.fabric) continue;
    ++built;
    speed = cluster.port(id).speed();
  }
  for (const model::PortGroup& group : *server.ports) {
    if (*group.use != use) continue;
    if (*group.count > built)
      return fmt::format("pools.{}.links.{}: {}", path.client_pool, model::to_text(path.fabric), *group.count);
    for (const BitRate faster : *group.speeds) {
      if (faster > speed) return fmt::format("fabrics.{}.speed: {}", model::to_text(path.fabric), to_text(faster));
    }
  }
  return fmt::format("pools.{}.server: one with more or faster {} ports", path.client_pool,
                     model::to_text(path.fabric));
}

void find_remedies(const model::Cluster& cluster, StoragePath& path) {
  const model::FabricSpec& fabric = cluster.data_fabric_spec(path.fabric);
  const Ratio& built = cluster.fabric(path.fabric).oversubscription;
  const std::string_view name = model::to_text(path.fabric);
  path.client_remedy = widen_links(cluster, path);
  path.uplink_remedy = built.numerator > built.denominator ? fmt::format("fabrics.{}.oversubscription: 1:1", name)
                                                           : fmt::format("fabrics.{}.uplinks: more per leaf", name);
  path.fabric_remedy = *fabric.load_balancing == model::LoadBalancing::ecmp
                           ? (one_path(path) ? fmt::format("storage.{}.multipath: queue-depth", path.system->name->text)
                                             : fmt::format("fabrics.{}.load_balancing: adaptive", name))
                           : fmt::format("more storage servers: `pools.{}.count`", path.pool);
}

// Kinds that have no RDMA transport, or none in common use.
bool always_tcp(const StoragePath& path) {
  return *path.system->kind == model::StorageKind::object || path.fabric == model::FabricKind::frontend;
}

}  // namespace

Result<std::optional<StoragePath>> storage_path(const model::Cluster& cluster, const model::JobSpec& job,
                                                const std::vector<model::DeviceId>& hosts,
                                                const model::Sourced<std::string>& volume, model::VolumePurpose purpose,
                                                std::string_view key, bool tcp) {
  CHECK(!hosts.empty(), "a job without servers");
  const Result<Found> found = choose_volume(cluster.spec(), job, volume, purpose, key);
  if (!found.ok()) return found.error();
  if (found->system == nullptr) return std::optional<StoragePath>();
  StoragePath path;
  path.system = found->system;
  path.volume = found->volume;
  path.pool = *path.system->pool;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0 || pool_of(cluster, group).name->text != path.pool) continue;
    path.local = *pool_of(cluster, group).role != model::PoolRole::storage;
    path.server = group.server;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      path.servers.push_back(static_cast<model::DeviceId>(model::index_of(group.first) + i));
    }
  }
  if (path.servers.empty()) {
    return Error{ErrorCode::invalid_input,
                 fmt::format("storage system `{}`: pool `{}` has no servers", path.system->name->text, path.pool),
                 cluster.name()};
  }
  if (path.local) {
    // Each server of the job works on its own drives.
    path.clients = hosts;
    path.client_pool = pool_name(cluster, hosts.front());
    path.servers = hosts;
    rate_servers(cluster, path);
    return std::optional<StoragePath>(std::move(path));
  }
  if (const Status status = choose_fabric(cluster, hosts, path); !status.ok()) return status.error();
  rate_servers(cluster, path);
  path.uplinks = uplink_bound(ports_of(cluster, path));
  find_remedies(cluster, path);
  path.tcp = tcp || always_tcp(path);
  return std::optional<StoragePath>(std::move(path));
}

std::string protocol_of(const StoragePath& path) {
  if (path.local) return "NVMe (local drives)";
  const std::string_view transport = path.tcp ? "TCP" : "RDMA";
  switch (*path.system->kind) {
    case model::StorageKind::nvmeof:
      return fmt::format("NVMe-oF/{}", transport);
    case model::StorageKind::lustre:
      return fmt::format("Lustre (LNet/{})", transport);
    case model::StorageKind::gpfs:
      return fmt::format("GPFS/{}", transport);
    case model::StorageKind::beegfs:
      return fmt::format("BeeGFS/{}", transport);
    case model::StorageKind::weka:
      return path.tcp ? "WEKA/TCP" : "WEKA/DPDK";
    case model::StorageKind::vast:
    case model::StorageKind::nfs:
      return fmt::format("NFS/{}", transport);
    case model::StorageKind::object:
      break;
  }
  return "S3 over HTTPS/TCP";
}

// A flash read takes about 80 us (Samsung PM9A3 data sheet, 4 KB random); NVMe-oF adds about 10 us over RDMA and 30 us
// or more over TCP (Guz et al., SYSTOR 2017). File systems add server software: WEKA states under 200 us, Lustre, GPFS,
// BeeGFS and NFS on flash serve small reads in 0.3 to 0.6 ms. Object stores: tens of milliseconds to the first byte on
// disks (AWS states 100 to 200 ms for S3).
double read_latency(const StoragePath& path) {
  if (path.local) return 80e-6;
  const double sockets = path.tcp ? 30e-6 : 0.0;
  switch (*path.system->kind) {
    case model::StorageKind::nvmeof:
      return 90e-6 + sockets;
    case model::StorageKind::weka:
      return 200e-6 + sockets;
    case model::StorageKind::lustre:
    case model::StorageKind::gpfs:
    case model::StorageKind::beegfs:
      return 400e-6 + sockets;
    case model::StorageKind::vast:
    case model::StorageKind::nfs:
      return 500e-6 + sockets;
    case model::StorageKind::object:
      break;
  }
  return 20e-3;
}

std::int64_t stripes_of(const StoragePath& path) {
  switch (*path.system->kind) {
    case model::StorageKind::weka:  // these stripe every file over all servers by themselves
    case model::StorageKind::vast:
      return path.targets;
    case model::StorageKind::nfs:  // a file is on one server, an object on one set
    case model::StorageKind::object:
      return 1;
    default:
      break;
  }
  return std::clamp<std::int64_t>(*path.system->stripe_count, 1, path.targets);
}

// File systems keep a connection to every server; an NFS mount has one server and opens 8 (`nconnect=8`, as in the
// rendered mounts); object loaders keep about 16 (the default pool of aws-sdk clients is 10 to 50).
std::int64_t connections_of(const StoragePath& path) {
  if (*path.system->kind == model::StorageKind::nfs || *path.system->kind == model::StorageKind::vast) return 8;
  const auto servers = static_cast<std::int64_t>(path.servers.size());
  return *path.system->kind == model::StorageKind::object ? std::max<std::int64_t>(16, servers) : servers;
}

// NVMe-oF multipath as set in the file; file systems with several rails (LNet multi-rail, GPFS verbs ports) use all.
bool one_path(const StoragePath& path) {
  return *path.system->kind == model::StorageKind::nvmeof &&
         *path.system->multipath == model::Multipath::active_standby;
}

}  // namespace weft::workload
