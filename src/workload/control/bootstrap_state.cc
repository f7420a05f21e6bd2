// State 2: from running containers to the first collective. Rendezvous and NCCL's bootstrap are TCP on the frontend;
// the backend carries traffic once queue pairs are connected.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "workload/control/bootstrap_cost.h"
#include "workload/control/events.h"
#include "workload/control/path.h"

namespace weft::workload {
namespace {

// `import torch` 4.2 to 5.7 s and a CUDA context 0.34 to 0.47 s, measured on a GPU server.
constexpr double kPython = 5.0;
constexpr double kContext = 0.4;
// Sizes of a unique id, and of a store request with its reply.
constexpr double kUniqueId = 128;
constexpr double kStoreMessage = 200;
// Per rank in the three all-gathers: addresses and identity about 100 bytes each (NVIDIA/nccl pull request 1791),
// graphs with their channels about 3 KB.
constexpr double kGathered = 100 + 100 + 3000;
// Warm-up all-reduce that verifies the setup: large enough to use every channel.
constexpr double kWarmUp = 1 << 20;
// The first launch loads kernels and opens on-demand connections; then latency dominates: NCCL's own figures for a tree
// over the network (14 us per hop, 8.4 us to start; nccl tuning.cc).
constexpr double kFirstLaunch = 20e-3;
constexpr double kHop = 14e-6;

// TORCH_NCCL_RANKS_PER_ROOT from the job's environment, or the cluster's: PyTorch then distributes the bootstrap over
// several roots. Unset: one root.
std::uint32_t ranks_per_root(const model::Cluster& cluster, const model::JobSpec& job) {
  std::uint32_t value = 0;
  const auto look = [&](const model::NamedValues<std::string>& variables) {
    for (const auto& [name, text] : variables) {
      if (name != "TORCH_NCCL_RANKS_PER_ROOT") continue;
      std::from_chars(text.value.data(), text.value.data() + text.value.size(), value);
    }
  };
  look(*cluster.spec().workload->environment);
  look(*job.environment);
  return value;
}

void add_rendezvous(double nodes, double ranks, StateBuilder& state) {
  state.then(
      {"Python and CUDA start", "CUDA", Medium::host, kPython + kContext, 0, "imports, a CUDA context on each GPU"});
  state.then({"torchrun rendezvous (c10d)", "TCP", Medium::frontend, nodes * (kAcceptSeconds + 4 * kStoreSeconds),
              nodes * 4 * kStoreMessage, fmt::format("{:.0f} agents join at the first server", nodes)});
  state.then({"TCPStore: ranks connect to rank 0", "TCP", Medium::frontend, ranks * kAcceptSeconds,
              ranks * 2 * kStoreMessage, fmt::format("{:.0f} connections to one thread", ranks)});
}

void add_communicator(const BootstrapGroup& group, const NcclMachine& machine, std::uint32_t roots, bool first,
                      StateBuilder& state) {
  const auto n = static_cast<double>(group.group.ranks);
  const auto all = n * static_cast<double>(group.count);
  if (group.group.ranks <= 1) return;
  const NcclConnections connections = nccl_connections(machine, group.group);
  const CommunicatorCost cost = communicator_cost(group.group.ranks, connections.queue_pairs, roots);
  const std::string of = fmt::format("{} x {} ranks", group.count, group.group.ranks);
  // Communicators of one kind have no rank in common: they are created in parallel, but share the store.
  state.then({fmt::format("{}: ncclUniqueId through the store", group.name), "TCP", Medium::frontend,
              2 * all * kStoreSeconds, all * (kUniqueId + 2 * kStoreMessage), of});
  state.then({fmt::format("{}: NCCL bootstrap", group.name), "TCP", Medium::frontend, cost.root + cost.rounds,
              all * (2 * kUniqueId + (n - 1) * kGathered),
              fmt::format("{}: {:.2f} s at the root, {:.2f} s in {:.0f} rounds of the ring", of, cost.root, cost.rounds,
                          3 * (n - 1))});
  state.then({fmt::format("{}: topology and graphs", group.name), "in NCCL", Medium::host,
              cost.topology + cost.tables + (first ? kFirstCommunicator : 0), 0,
              "GPUs, NVLink, PCIe and NICs of the server; rings and trees"});
  state.then({fmt::format("{}: queue pairs", group.name),
              connections.queue_pairs == 0 ? "NVLink" : (machine.infiniband ? "InfiniBand verbs" : "RoCEv2 verbs"),
              connections.queue_pairs == 0 ? Medium::nvlink : Medium::backend, std::max(cost.connections, 1e-3), 0,
              fmt::format("{} queue pairs and {} peers per rank", connections.queue_pairs, connections.peers)});
}

// An all-reduce of 1 MiB over the largest communicator.
void add_warm_up(const BootstrapGroup& world, const NcclMachine& machine, StateBuilder& state) {
  const auto n = static_cast<double>(world.group.ranks);
  const double local = std::max(1.0, static_cast<double>(std::min(world.group.node_ranks, world.group.ranks)));
  const double nodes = std::max(1.0, n / local);
  const double steps = 2 * std::ceil(std::log2(std::max(2.0, nodes)));
  state.then({"kernels of the first collective", "CUDA", Medium::host, kFirstLaunch, 0, "lazy loading"});
  if (nodes > 1) {
    const double nics = static_cast<double>(machine.nic.count()) / 8 * machine.nics;
    const double seconds = 8.4e-6 + steps * kHop + 2 * kWarmUp / std::max(1.0, nics);
    state.then({"first collective: all-reduce of 1 MiB",
                machine.infiniband ? "InfiniBand RDMA write" : "RoCEv2 RDMA write", Medium::backend, seconds,
                2 * (nodes - 1) * kWarmUp, fmt::format("{:.0f} ranks", n)});
  }
  const double nvlink = static_cast<double>(machine.nvlink.per_second.count());
  if (local > 1 && nvlink > 0) {
    state.beside({"first collective: all-reduce of 1 MiB", "NVLink", Medium::nvlink, 8.4e-6 + 2 * kWarmUp / nvlink,
                  2 * (local - 1) * nodes * kWarmUp, "inside each server"},
                 0);
  }
}

}  // namespace

LifeState bootstrap_state(const model::Cluster& cluster, const model::JobSpec& job,
                          const std::vector<model::DeviceId>& hosts, const NcclMachine& machine,
                          const std::vector<BootstrapGroup>& groups, SimTime start) {
  CHECK(!hosts.empty(), "a job without servers");
  StateBuilder state(2, "NCCL bootstrap", start);
  for (const model::FabricKind fabric :
       {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend, model::FabricKind::oob}) {
    state.capacity(static_cast<Medium>(fabric), fabric_capacity(cluster, hosts, fabric));
  }
  const auto nodes = static_cast<double>(hosts.size());
  const double ranks = nodes * static_cast<double>(*job.gpus_per_node);
  state.capacity(Medium::nvlink, ranks * static_cast<double>(machine.nvlink.per_second.count()));
  add_rendezvous(nodes, ranks, state);
  const std::uint32_t roots = ranks_per_root(cluster, job);
  bool first = true;
  for (const BootstrapGroup& group : groups) {
    add_communicator(group, machine, roots, first, state);
    first = false;
  }
  if (!groups.empty() && groups.front().group.ranks > 1) add_warm_up(groups.front(), machine, state);
  return state.finish(Medium::frontend);
}

}  // namespace weft::workload
