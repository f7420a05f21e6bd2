// Virtual functions: with SR-IOV each pod gets its own functions, one per rail it uses, and each has an address
// (Kubernetes sizing appendix of the fabric guide: net1/net2 backend, net3/net4 storage for one training pod per node).
#include <fmt/format.h>

#include <optional>
#include <set>

#include "design/sizing.h"

namespace weft::design {

namespace {

// A server's ports on one fabric. Planes count as ports: a pod needs a function on each.
struct RailPorts {
  std::int64_t ports = 0;
  std::optional<std::int64_t> limit;  // functions per port
};

struct VfPool {
  const model::DeviceGroup* group = nullptr;
  const model::PoolSpec* pool = nullptr;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;  // per node
  RailPorts backend;
  RailPorts storage;
};

// The functions and addresses needed for one way of splitting nodes into pods.
struct VfPlan {
  std::int64_t pods_per_node = 1;
  std::int64_t gpus_per_pod = 0;
  std::int64_t backend_per_pod = 0;
  std::int64_t storage_per_pod = 0;
  std::int64_t backend_per_port = 0;
  std::int64_t storage_per_port = 0;
  bool fits = true;

  [[nodiscard]] std::int64_t per_pod() const { return backend_per_pod + storage_per_pod; }
  [[nodiscard]] std::int64_t per_node() const { return per_pod() * pods_per_node; }
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

RailPorts rail_ports(const model::Cluster& cluster, const model::DeviceGroup& group, model::FabricKind fabric,
                     model::PortUse use) {
  RailPorts out;
  for (const model::PortId id : cluster.ports_of(group.first)) {
    if (cluster.port(id).fabric == fabric) ++out.ports;
  }
  for (const model::PortGroup& ports : *group.server->ports) {
    if (*ports.use != use || !ports.nic.has_value()) continue;
    const model::NicModel* nic = cluster.catalog().nic(*ports.nic);
    if (nic == nullptr || !nic->virtual_functions.has_value()) continue;
    if (!out.limit || *nic->virtual_functions < *out.limit) out.limit = *nic->virtual_functions;
  }
  return out;
}

std::vector<VfPool> vf_pools(const model::Cluster& cluster) {
  std::vector<VfPool> out;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0 || group.count == 0 || *group.server->gpus == 0) continue;
    VfPool pool;
    pool.group = &group;
    pool.pool = &(*cluster.spec().pools)[static_cast<std::size_t>(group.pool)];
    pool.nodes = group.count;
    pool.gpus = *group.server->gpus;
    pool.backend = rail_ports(cluster, group, model::FabricKind::backend, model::PortUse::backend);
    pool.storage = rail_ports(cluster, group, model::FabricKind::storage, model::PortUse::storage);
    out.push_back(pool);
  }
  return out;
}

bool within(std::int64_t wanted, const RailPorts& ports) { return !ports.limit || wanted <= *ports.limit; }

VfPlan plan_for(const VfPool& pool, std::int64_t pods_per_node) {
  VfPlan plan;
  plan.pods_per_node = pods_per_node;
  plan.gpus_per_pod = pool.gpus / pods_per_node;
  if (*pool.pool->role == model::PoolRole::inference) return plan;  // replicas communicate over eth0
  // One NIC per GPU: the pod uses the rails of its own GPUs. Fewer NICs than GPUs: every pod uses all rails.
  plan.backend_per_pod =
      pool.backend.ports >= pool.gpus ? divide_up(pool.backend.ports, pods_per_node) : pool.backend.ports;
  plan.storage_per_pod = pool.storage.ports;
  if (pool.backend.ports > 0) {
    plan.backend_per_port = divide_up(plan.backend_per_pod * pods_per_node, pool.backend.ports);
  }
  plan.storage_per_port = pool.storage.ports > 0 ? pods_per_node : 0;
  plan.fits = within(plan.backend_per_port, pool.backend) && within(plan.storage_per_port, pool.storage);
  return plan;
}

// Pods per node: training pods as set in the file, inference replicas by GPU or MIG instance.
std::int64_t pods_of(const VfPool& pool) {
  if (*pool.pool->role != model::PoolRole::inference) return *pool.pool->pods_per_node;
  std::int64_t per_gpu = 0;
  if (pool.pool->mig.has_value()) {
    for (const auto& entry : *pool.pool->mig) per_gpu += *entry.second;
  }
  if (per_gpu == 0) per_gpu = *pool.pool->time_slices;
  return per_gpu * pool.gpus;
}

TableSection pods_table(const std::vector<VfPool>& pools) {
  using Align = Column::Align;
  TableSection table{"pools",
                     "Pods and virtual functions",
                     {{"pool", "pool"},
                      {"role", "role"},
                      {"nodes", "nodes", Align::right},
                      {"pods_per_node", "pods per node", Align::right},
                      {"gpus_per_pod", "GPUs per pod", Align::right},
                      {"pods", "pods", Align::right},
                      {"backend_vfs_per_pod", "backend VFs per pod", Align::right},
                      {"storage_vfs_per_pod", "storage VFs per pod", Align::right},
                      {"vfs_per_node", "VFs per node", Align::right},
                      {"vfs", "VFs", Align::right}},
                     {}};
  for (const VfPool& pool : pools) {
    const VfPlan plan = plan_for(pool, pods_of(pool));
    const bool sliced = plan.gpus_per_pod == 0;
    table.rows.push_back({pool.pool->name->text, model::text_of(*pool.pool->role), pool.nodes, plan.pods_per_node,
                          sliced ? Cell("a slice") : Cell(plan.gpus_per_pod), plan.pods_per_node * pool.nodes,
                          plan.backend_per_pod, plan.storage_per_pod, plan.per_node(), plan.per_node() * pool.nodes});
  }
  return table;
}

std::string limit_text(std::int64_t wanted, const RailPorts& ports) {
  return ports.limit ? fmt::format("{} of {}", wanted, *ports.limit) : std::to_string(wanted);
}

// 1 x 8, 2 x 4 and 8 x 1 GPUs, and the split set in the file.
TableSection alternatives_table(const std::vector<VfPool>& pools) {
  using Align = Column::Align;
  TableSection table{"alternatives",
                     "Options for training pods per node",
                     {{"pool", "pool"},
                      {"layout", "pods x GPUs"},
                      {"chosen", "chosen"},
                      {"pods", "pods", Align::right},
                      {"vfs_per_pod", "VFs per pod", Align::right},
                      {"vfs_per_node", "VFs per node", Align::right},
                      {"backend_vfs_per_port", "a backend port", Align::right},
                      {"storage_vfs_per_port", "a storage port", Align::right},
                      {"fits", "fits"},
                      {"addresses", "addresses", Align::right}},
                     {}};
  for (const VfPool& pool : pools) {
    if (*pool.pool->role == model::PoolRole::inference) continue;
    std::set<std::int64_t> layouts = {1, pool.gpus, *pool.pool->pods_per_node};
    if (pool.gpus % 2 == 0) layouts.insert(2);
    for (const std::int64_t pods : layouts) {
      if (pods > pool.gpus) continue;
      const VfPlan plan = plan_for(pool, pods);
      const bool chosen = pods == *pool.pool->pods_per_node;
      table.rows.push_back({pool.pool->name->text, fmt::format("{} x {}", pods, plan.gpus_per_pod),
                            Cell(chosen, chosen ? "yes" : ""), pods * pool.nodes, plan.per_pod(), plan.per_node(),
                            Cell(plan.backend_per_port, limit_text(plan.backend_per_port, pool.backend)),
                            Cell(plan.storage_per_port, limit_text(plan.storage_per_port, pool.storage)),
                            Cell(plan.fits, plan.fits ? "yes" : "no"), plan.per_node() * pool.nodes});
    }
  }
  return table;
}

struct RailAddresses {
  std::int64_t ports = 0;  // host ports on this rail, each with an address
  std::int64_t functions = 0;
};

// Addresses by rail of one fabric.
std::vector<RailAddresses> rail_addresses(const model::Cluster& cluster, const std::vector<VfPool>& pools,
                                          model::FabricKind fabric) {
  std::vector<RailAddresses> rails(cluster.fabric(fabric).rails);
  for (const model::Port& port : cluster.ports()) {
    const bool host = cluster.group_of(port.device).kind == model::DeviceKind::server;
    if (port.fabric == fabric && host && port.rail < rails.size()) ++rails[port.rail].ports;
  }
  for (const VfPool& pool : pools) {
    const VfPlan plan = plan_for(pool, pods_of(pool));
    const std::int64_t per_port = fabric == model::FabricKind::backend ? plan.backend_per_port : plan.storage_per_port;
    for (const model::PortId id : cluster.ports_of(pool.group->first)) {
      const model::Port& port = cluster.port(id);
      if (port.fabric == fabric && port.rail < rails.size()) rails[port.rail].functions += per_port * pool.nodes;
    }
  }
  return rails;
}

// Prefix length of the smallest subnet with that many hosts, besides its network and broadcast addresses.
int prefix_length_for(std::int64_t hosts) {
  int length = 32;
  while (length > 0 && (std::int64_t{1} << (32 - length)) < hosts + 2) --length;
  return length;
}

void add_addresses(const model::Cluster& cluster, const std::vector<VfPool>& pools, model::FabricKind fabric,
                   TableSection& table, std::vector<std::string>& notes) {
  const model::FabricSpec& spec = cluster.data_fabric_spec(fabric);
  const std::vector<RailAddresses> rails = rail_addresses(cluster, pools, fabric);
  for (std::size_t rail = 0; rail < rails.size(); ++rail) {
    const std::int64_t used = rails[rail].ports + rails[rail].functions;
    const bool known = spec.subnets.has_value() && rail < spec.subnets->size();
    const std::int64_t size = known ? static_cast<std::int64_t>((*spec.subnets)[rail].size()) : 0;
    table.rows.push_back({model::to_text(fabric), static_cast<std::int64_t>(rail + 1),
                          known ? Cell(to_text((*spec.subnets)[rail])) : Cell(), rails[rail].ports,
                          rails[rail].functions, used, known ? Cell(size - used) : Cell()});
    if (known && used + 2 > size) {
      notes.push_back(fmt::format(
          "{} rail {}: {} addresses do not fit {}. Use a prefix of {} bits or fewer, or fewer pods per node.",
          model::to_text(fabric), rail + 1, used, to_text((*spec.subnets)[rail]), prefix_length_for(used)));
    }
  }
}

void note_pool(const VfPool& pool, std::vector<std::string>& notes) {
  const std::string& name = pool.pool->name->text;
  const std::int64_t pods = pods_of(pool);
  const VfPlan plan = plan_for(pool, pods);
  if (*pool.pool->role == model::PoolRole::inference) {
    notes.push_back(fmt::format("{}: inference replicas use eth0 and no virtual functions.", name));
    return;
  }
  if (pods > pool.gpus || pool.gpus % pods != 0) {
    notes.push_back(fmt::format("{}: {} pods per node do not divide {} GPUs evenly.", name, pods, pool.gpus));
  }
  if (!plan.fits) {
    notes.push_back(fmt::format("{}: {} pods per node need more virtual functions than a port supports.", name, pods));
  }
  notes.push_back(fmt::format(
      "{}: each pod has eth0 on the frontend, {} backend and {} storage functions (net1 to net{}), each with its own "
      "address. A job of {} GPUs is {} pods.",
      name, plan.backend_per_pod, plan.storage_per_pod, plan.per_pod(), pool.nodes * pool.gpus, pool.nodes * pods));
}

}  // namespace

Document vf_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "virtual-functions";
  const std::vector<VfPool> pools = vf_pools(cluster);
  if (pools.empty()) {
    document.notes.emplace_back("No pool of this cluster has GPUs.");
    return document;
  }
  document.sections.emplace_back(pods_table(pools));
  document.sections.emplace_back(alternatives_table(pools));
  TableSection addresses{"addresses",
                         "Addresses used on each rail",
                         {{"fabric", "fabric"},
                          {"rail", "rail", Column::Align::right},
                          {"subnet", "subnet"},
                          {"ports", "host ports", Column::Align::right},
                          {"vfs", "VFs", Column::Align::right},
                          {"used", "used", Column::Align::right},
                          {"free", "free", Column::Align::right}},
                         {}};
  add_addresses(cluster, pools, model::FabricKind::backend, addresses, document.notes);
  add_addresses(cluster, pools, model::FabricKind::storage, addresses, document.notes);
  document.sections.emplace_back(std::move(addresses));
  for (const VfPool& pool : pools) note_pool(pool, document.notes);
  document.notes.emplace_back(
      "One pod per node is simplest for networking, rank mapping and VF allocation of large jobs; 2 x 4 and 8 x 1 suit "
      "many small jobs.");
  return document;
}

}  // namespace weft::design
