#include "workload/life/nccl_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "netsim/network/from_cluster.h"
#include "workload/life/fault_view.h"
#include "workload/life/play_life.h"

namespace weft::workload {
namespace {

const model::DeviceGroup* gpu_pool(const model::Cluster& cluster, const std::string& name) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.pool < 0 || group.server == nullptr || group.server->gpus.value < 1) continue;
    const model::PoolSpec& pool = cluster.spec().pools.value[static_cast<std::size_t>(group.pool)];
    if (name.empty() || pool.name->text == name) return &group;
  }
  return nullptr;
}

// The first `node` GPUs of each server of the pool, until there are `ranks`.
std::vector<netsim::NodeId> endpoints_of(const netsim::Network& network, const model::DeviceGroup& pool,
                                         std::uint32_t node, std::uint32_t ranks) {
  std::vector<netsim::NodeId> ends;
  std::map<std::uint32_t, std::uint32_t> used;
  const auto first = static_cast<std::uint32_t>(model::index_of(pool.first));
  for (const netsim::NodeId end : network.endpoints()) {
    const auto device = static_cast<std::uint32_t>(model::index_of(network.node(end).device));
    if (device < first || device >= first + pool.count || ends.size() == ranks) continue;
    if (used[device]++ < node) ends.push_back(end);
  }
  return ends;
}

TableSection empty_table() {
  TableSection table;
  table.key = "collective";
  table.title = "Results (as in nccl-tests)";
  const auto right = Column::Align::right;
  table.columns = {{"size_bytes", "size (B)", right, false},
                   {"time_us", "time (us)", right, false},
                   {"algbw_gb_per_s", "algbw (GB/s)", right, false},
                   {"busbw_gb_per_s", "busbw (GB/s)", right, false},
                   {"algorithm", "algorithm", Column::Align::left, false},
                   {"protocol", "protocol", Column::Align::left, false},
                   {"channels", "channels", right, false},
                   {"slowdown", "fabric", right, false}};
  return table;
}

}  // namespace

Result<NcclSweep> nccl_sweep(const model::Cluster& cluster, const NcclSweepRequest& request) {
  const model::DeviceGroup* pool = gpu_pool(cluster, request.pool);
  if (pool == nullptr) {
    return Error{ErrorCode::not_found,
                 request.pool.empty() ? std::string("no pool of the cluster has GPUs")
                                      : fmt::format("no pool `{}` with GPUs", request.pool),
                 {}};
  }
  const auto per_server = static_cast<std::uint32_t>(pool->server->gpus.value);
  const std::uint32_t node = request.node_ranks > 0 ? std::min(request.node_ranks, per_server) : per_server;
  const std::uint32_t most = pool->count * node;
  const std::uint32_t ranks = request.ranks > 0 ? request.ranks : most;
  if (ranks > most || ranks < 2) {
    return Error{ErrorCode::invalid_input, fmt::format("{} ranks requested; the pool allows 2 to {}", ranks, most), {}};
  }
  NcclMachine machine = machine_of(cluster, *pool->server);
  machine.version = request.version;
  OpGroup group;
  group.name = "world";
  group.ranks = ranks;
  group.node_ranks =
      std::min(ranks, std::max(node, std::min(ranks, machine.node_gpus > per_server ? machine.node_gpus : node)));
  while (group.ranks % group.node_ranks != 0) --group.node_ranks;
  FabricTimer timer(machine, request.fabric, 1, ranks);
  std::optional<netsim::Network> network;
  std::optional<BackendFaults> faults;
  std::optional<FaultOutcome> outcome;
  if (request.faults || (request.fabric.fidelity != netsim::Fidelity::analytic && group.node_ranks < group.ranks)) {
    Result<netsim::Network> made = netsim::network_of(cluster, {});
    if (!made.ok()) return made.error();
    network = std::move(*made);
    std::vector<netsim::NodeId> ends = endpoints_of(*network, *pool, node, ranks);
    if (request.faults) {
      netsim::Network broken = *network;
      netsim::SimOptions events = request.fabric.simulation;
      if (const Status status = request.faults(broken, events); !status.ok()) return status.error();
      faults = faults_from(*network, std::move(broken), events);
      FaultVerdict verdict = judge_faults(*faults, ends, node, request.fabric.routing, {}, request.fabric.tcp);
      outcome = std::move(verdict.outcome);
      if (outcome->restarts) timer.use_faults(*faults, std::move(verdict.ports));
    }
    if (ends.size() == ranks) timer.use_network(*network, std::move(ends));
  }
  Document document;
  document.kind = "nccl";
  FactsSection facts;
  facts.key = "run";
  facts.title = "Run";
  facts.facts = {{"cluster", "Cluster", cluster.name()},
                 {"operation", "Collective", std::string(to_text(request.operation))},
                 {"ranks", "Ranks", ranks},
                 {"node_ranks", "Ranks per NVLink domain", group.node_ranks},
                 {"fidelity", "Fidelity", std::string(to_text(request.fabric.fidelity))}};
  document.sections.emplace_back(std::move(facts));
  if (outcome) document.sections.emplace_back(fault_facts(*outcome, SimTime(0)));
  TableSection table = empty_table();
  for (Bytes bytes = request.least; bytes <= request.most; bytes = bytes * request.factor) {
    const NcclChoice choice = timer.choice(request.operation, bytes, group);
    const SimTime time = timer.collective(request.operation, bytes, group) + request.launch;
    const double seconds = static_cast<double>(time.count()) / 1e12;
    const double rate = seconds > 0 ? static_cast<double>(bytes.count()) / seconds / 1e9 : 0;
    const double bus = rate * netsim::bus_factor(request.operation, ranks);
    const double slowdown = timer.slowdown(request.operation, bytes, group);
    table.rows.push_back({Cell(bytes.count()), Cell(seconds * 1e6, fmt::format("{:.2f}", seconds * 1e6)),
                          Cell(rate, fmt::format("{:.2f}", rate)), Cell(bus, fmt::format("{:.2f}", bus)),
                          std::string(to_text(choice.algorithm)), std::string(to_text(choice.protocol)),
                          choice.channels, Cell(slowdown, fmt::format("{:.2f} x", slowdown))});
  }
  document.sections.emplace_back(std::move(table));
  document.notes.emplace_back(
      "launch and protocol latencies, NCCL's own choice of algorithm and protocol; `fabric` is the slowdown of the "
      "backend as built against an ideal network");
  if (outcome) {
    document.notes.emplace_back(outcome->restarts
                                    ? "the figures are for a communicator that is created after the faults"
                                    : "no communicator can be created after the faults: the figures are from before");
  }
  if (timer.problem()) document.notes.push_back("not simulated: " + timer.problem()->text());
  return NcclSweep{std::move(document), !outcome || (outcome->restarts && !timer.problem())};
}

}  // namespace weft::workload
