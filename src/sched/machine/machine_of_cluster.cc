// The GPU servers of a compiled cluster as a Machine for the scheduler.
#include <fmt/format.h>

#include <algorithm>

#include "model/cluster.h"
#include "sched/machine/machine.h"

namespace weft::sched {
namespace {

class ClusterMachine {
 public:
  explicit ClusterMachine(const model::Cluster& cluster) : cluster_(cluster) {}

  Status add_pools() {
    for (const model::DeviceGroup& group : cluster_.groups()) {
      if (group.server == nullptr || group.pool < 0 || group.manager) continue;
      if (group.server->gpus.value == 0) continue;
      if (Status added = add_pool(group); !added.ok()) return added;
    }
    if (nodes.empty()) return Error{ErrorCode::invalid_input, "the cluster has no GPU servers to run jobs on", {}};
    return {};
  }

  std::vector<NodeShape> nodes;
  std::vector<NodeLabels> labels;
  std::vector<std::string> models;
  std::vector<std::string> pools;
  std::vector<std::string> spares;

 private:
  Status add_pool(const model::DeviceGroup& group) {
    const model::PoolSpec& pool = cluster_.spec().pools.value[static_cast<std::size_t>(group.pool)];
    pools.push_back(group.name);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      const model::ServerModel& server = cluster_.server_of(id);
      if (server.gpus.value > kMaxGpus) {
        return Error{
            ErrorCode::invalid_input,
            fmt::format("{} has {} GPUs; a server has at most {}", cluster_.name_of(id), server.gpus.value, kMaxGpus),
            {}};
      }
      nodes.push_back(shape_of(id, server, pool));
      labels.push_back(labels_of(id, server, group, i));
      if (std::int64_t{i} >= std::int64_t{group.count} - pool.spares.value) spares.push_back(cluster_.name_of(id));
    }
    return {};
  }

  NodeShape shape_of(model::DeviceId id, const model::ServerModel& server, const model::PoolSpec& pool) {
    NodeShape node;
    node.name = cluster_.name_of(id);
    node.cpu = static_cast<Milli>(std::min<std::int64_t>(server.cores.value, 1'000'000) * 1000);
    node.memory_mib = static_cast<std::int32_t>(server.memory.value.count() >> 20);
    node.gpus = static_cast<std::int32_t>(server.gpus.value);
    node.model = model_named(server.gpu.value);
    node.pool = static_cast<std::int32_t>(pools.size() - 1);
    node.functions = functions_of(id, server, pool);
    node.scratch_gib = static_cast<std::int32_t>(server.local_nvme.value.count() >> 30);
    const model::GpuModel* gpu = cluster_.catalog().gpu(server.gpu.value);
    node.mig = gpu != nullptr && gpu->mig.has_value();
    if (server.gpu_numa.has_value()) {
      for (std::size_t g = 0; g < server.gpu_numa.value.size() && g < kMaxGpus; ++g) {
        node.gpu_numa[g] = static_cast<std::uint8_t>(server.gpu_numa.value[g]);
      }
    }
    return node;
  }

  std::int32_t model_named(const std::string& name) {
    const auto index = static_cast<std::size_t>(std::find(models.begin(), models.end(), name) - models.begin());
    if (index == models.size()) models.push_back(name);
    return static_cast<std::int32_t>(index);
  }

  // As in the rendered SR-IOV policies: with one NIC per GPU a pod gets the rails of its own GPUs, otherwise every pod
  // has a function on each rail; plus one on each storage port. Service replicas communicate over the frontend.
  std::int32_t functions_of(model::DeviceId id, const model::ServerModel& server, const model::PoolSpec& pool) const {
    if (pool.role.value == model::PoolRole::inference) return 0;
    std::int64_t backend = 0;
    std::int64_t storage = 0;
    for (const model::PortId port : cluster_.ports_of(id)) {
      backend += cluster_.port(port).fabric == model::FabricKind::backend ? 1 : 0;
      storage += cluster_.port(port).fabric == model::FabricKind::storage ? 1 : 0;
    }
    const std::int64_t pods = pool.pods_per_node.value;
    const std::int64_t per_pod = backend >= server.gpus.value ? (backend + pods - 1) / pods : backend;
    return static_cast<std::int32_t>((per_pod + storage) * pods);
  }

  NodeLabels labels_of(model::DeviceId id, const model::ServerModel& server, const model::DeviceGroup& group,
                       std::uint32_t index) const {
    const model::Device& device = cluster_.device(id);
    NodeLabels out;
    const std::int64_t domain = server.nvlink_domain.has_value() ? server.nvlink_domain.value : server.gpus.value;
    const std::int64_t servers = std::max<std::int64_t>(1, domain / server.gpus.value);
    // The scheduler treats an NVLink domain as one rack, regardless of the floor plan: racks are contained in leaf
    // groups and domains in racks.
    const std::uint32_t first = index - static_cast<std::uint32_t>(index % servers);
    const model::Device& head = cluster_.device(static_cast<model::DeviceId>(model::index_of(group.first) + first));
    if (servers > 1) out.nvlink = fmt::format("{}-nvl{:03}", group.name, index / servers + 1);
    if (head.rack != model::kNone<model::RackId>) out.rack = cluster_.rack(head.rack).name;
    out.leaf = group.name;
    if (device.unit != model::kNone<model::UnitId>) {
      const model::Unit& unit = cluster_.units()[model::index_of(device.unit)];
      out.leaf = unit.pool >= 0 ? fmt::format("{}-u{:02}", group.name, unit.index + 1) : "shared";
      out.pod = fmt::format("pod{:02}", unit.pod + 1);
    }
    return out;
  }

  const model::Cluster& cluster_;
};

}  // namespace

Result<Machine> Machine::of(const model::Cluster& cluster) {
  ClusterMachine parts(cluster);
  if (const Status added = parts.add_pools(); !added.ok()) return added.error();
  Result<Machine> machine =
      build(std::move(parts.nodes), parts.labels, std::move(parts.models), std::move(parts.pools));
  if (!machine.ok()) return machine;
  for (const std::string& name : parts.spares) machine->spares_.push_back(*machine->find(name));
  std::sort(machine->spares_.begin(), machine->spares_.end());
  return machine;
}

}  // namespace weft::sched
