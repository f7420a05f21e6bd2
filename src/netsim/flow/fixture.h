// Shared by tests of the flow engine: plain and packet options, rings, the permutation of the benchmark workloads.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "netsim/flow/run.h"
#include "netsim/network/topologies.h"
#include "netsim/sim/simulate.h"

namespace weft::netsim::flow_tests {

// A pure fluid without packets: SimGrid's CM02 model, except for its weights.
inline SimOptions plain_options() {
  SimOptions options;
  options.fidelity = Fidelity::flow;
  options.classes[0].transport.header = Bytes(0);
  options.switches.cut_through = true;
  return options;
}

inline SimOptions packet_options() {
  SimOptions options;
  options.fidelity = Fidelity::flow;
  return options;
}

inline RoutingOptions routing(RoutingMode mode) {
  RoutingOptions options;
  options.mode = mode;
  return options;
}

inline Transfer send(NodeId from, NodeId to, std::int64_t bytes) {
  Transfer t;
  t.source = from;
  t.destination = to;
  t.bytes = Bytes(bytes);
  return t;
}

inline SimResult simulated(Routes& routes, TransferGraph& graph, const SimOptions& options,
                           SimMonitor* monitor = nullptr) {
  EXPECT_TRUE(graph.finish(routes.network()));
  Result<SimResult> result = simulate(routes, graph, options, monitor);
  EXPECT_TRUE(result.ok());
  return std::move(result).value();
}

// Without shortcuts: every round is simulated.
inline SimResult step_by_step(Routes& routes, const TransferGraph& graph, const SimOptions& options) {
  return FlowRun(routes, graph, options, nullptr, FlowShortcuts{false, false, UINT64_MAX, UINT64_MAX}).run();
}

// Rank r on host `hosts[r]` sends `rounds` rounds to rank r+1, each after the previous one has arrived from rank r-1.
inline std::vector<TransferId> add_ring(TransferGraph& graph, const std::vector<NodeId>& ranks, std::int64_t bytes,
                                        std::uint32_t rounds) {
  const auto count = static_cast<std::uint32_t>(ranks.size());
  const auto first = static_cast<std::uint32_t>(graph.size());
  std::vector<TransferId> ids;
  for (std::uint32_t r = 0; r < count; ++r) {
    Transfer t = send(ranks[r], ranks[(r + 1) % count], bytes);
    t.rounds = rounds;
    t.round_after = static_cast<TransferId>(first + (r + count - 1) % count);
    ids.push_back(graph.add(t));
  }
  return ids;
}

// The permutation of the benchmark workloads: Fisher-Yates on splitmix64, fixed points swapped with the next index.
inline std::vector<std::uint32_t> random_permutation(std::uint32_t count) {
  std::vector<std::uint32_t> p(count);
  std::iota(p.begin(), p.end(), 0U);
  std::uint64_t state = count;
  for (std::uint32_t i = count - 1; i > 0; --i) std::swap(p[i], p[detail::splitmix64(state) % (i + 1)]);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (p[i] == i) std::swap(p[i], p[(i + 1) % count]);
  }
  return p;
}

}  // namespace weft::netsim::flow_tests
