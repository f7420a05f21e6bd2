// Rings and rounds: skipping does not change the result.
#include <algorithm>

#include "netsim/flow/fixture.h"

namespace weft::netsim {
namespace {

using namespace flow_tests;

// W3: 128 ranks on 8 leaves, 254 rounds of 500 kB at 400 Gb/s. A round is 10 us of sending and 2 us of latency; the 16
// edges between leaves that a chain of 254 crosses take 2 us longer.
TEST(FlowRepeat, RunsTheRingOf128InClosedForm) {
  const Network network = leaf_spine({});
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  add_ring(graph, {network.endpoints().begin(), network.endpoints().end()}, 500'000, 254);
  const SimResult result = simulated(routes, graph, plain_options());
  EXPECT_EQ(result.end, microseconds(254 * 12 + 16 * 2));
  EXPECT_EQ(result.completion_times.size(), 128U * 254);
  EXPECT_EQ(result.totals.solves, 0U);
  EXPECT_EQ(result.trace_hash, step_by_step(routes, graph, plain_options()).trace_hash);
}

// The same as single transfers with one dependency each, as in flow files.
TEST(FlowRepeat, RunsTheRingOf128AsSingleTransfers) {
  const Network network = leaf_spine({});
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  for (std::uint32_t s = 0; s < 254; ++s) {
    for (std::uint32_t r = 0; r < 128; ++r) {
      const TransferId id = graph.add(send(network.endpoints()[r], network.endpoints()[(r + 1) % 128], 500'000));
      if (s > 0) graph.depend(id, static_cast<TransferId>((s - 1) * 128 + (r + 127) % 128));
    }
  }
  EXPECT_EQ(simulated(routes, graph, plain_options()).end, microseconds(3080));
}

void expect_same(const SimResult& a, const SimResult& b) {
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.completion_times, b.completion_times);
  EXPECT_EQ(a.trace_hash, b.trace_hash);
  EXPECT_EQ(a.end, b.end);
  ASSERT_EQ(a.links.size(), b.links.size());
  for (std::size_t i = 0; i < a.links.size(); ++i) {
    EXPECT_EQ(a.links[i].bytes, b.links[i].bytes) << i;
    EXPECT_EQ(a.links[i].packets, b.links[i].packets) << i;
  }
}

std::vector<NodeId> shuffled(const Network& network, std::uint64_t seed) {
  std::vector<NodeId> hosts(network.endpoints().begin(), network.endpoints().end());
  RandomStream random(seed, "hosts");
  for (std::size_t i = hosts.size() - 1; i > 0; --i) std::swap(hosts[i], hosts[random.below(i + 1)]);
  return hosts;
}

// Skipping does not change the result: rings on random hosts of an oversubscribed leaf-spine, with hashing, so that
// their edges share links; one or several of them, with dependencies, and with competing transfers.
TEST(FlowRepeat, SkipsExactly) {
  RandomStream random(11, "skip");
  std::uint64_t skipped = 0;
  for (std::uint64_t trial = 0; trial < 24; ++trial) {
    LeafSpineShape shape;
    shape.leaves = 4;
    shape.hosts_per_leaf = 4;
    shape.spines = 1 + static_cast<std::uint32_t>(random.below(4));
    const Network network = leaf_spine(shape);
    Routes routes(network, routing(RoutingMode::ecmp));
    TransferGraph graph;
    const std::uint64_t rings = 1 + random.below(3);
    for (std::uint64_t r = 0; r < rings; ++r) {
      std::vector<NodeId> hosts = shuffled(network, trial * 7 + r);
      hosts.resize(2 + random.below(hosts.size() - 2));
      const std::int64_t bytes = random.chance(0.3) ? random.between(200, 9'000) : random.between(100'000, 900'000);
      const std::vector<TransferId> ids =
          add_ring(graph, hosts, bytes, static_cast<std::uint32_t>(random.between(20, 200)));
      if (random.chance(0.3)) graph.edit(ids[0]).start = microseconds(random.between(1, 300));
      if (random.chance(0.3)) graph.edit(ids.back()).queue_pairs = 2;
    }
    if (random.chance(0.5)) {
      Transfer extra = send(network.endpoints()[0], network.endpoints()[15], 2'000'000);
      extra.start = microseconds(random.between(0, 900));
      graph.add(extra);
    }
    const SimOptions options = random.chance(0.5) ? plain_options() : packet_options();
    const SimResult fast = simulated(routes, graph, options);
    const SimResult slow = step_by_step(routes, graph, options);
    expect_same(fast, slow);
    EXPECT_TRUE(fast.complete);
    if (fast.totals.events < slow.totals.events / 2) ++skipped;
  }
  EXPECT_GE(skipped, 4U);  // otherwise the test would prove nothing
}

// Hosts of different rates: the slowest one limits its ring, in closed form and in simulation.
TEST(FlowRepeat, SkipsExactlyIfMembersDiffer) {
  NetworkBuilder builder;
  std::vector<NodeId> hosts;
  for (std::uint32_t i = 0; i < 12; ++i) hosts.push_back(builder.add_node({}, "host"));
  Node middle;
  middle.kind = NodeKind::network_switch;
  middle.tier = 1;
  const NodeId hub = builder.add_node(middle, "switch");
  for (std::uint32_t i = 0; i < 12; ++i) {
    builder.connect(hosts[i], hub, gigabits(i % 5 == 0 ? 100 : 400), nanoseconds(100 + 37 * i));
  }
  const Network network = std::move(builder).finish();
  Routes routes(network, routing(RoutingMode::ecmp));
  for (const std::uint32_t rounds : {2U, 11U, 12U, 22U, 150U}) {
    TransferGraph graph;
    const std::vector<TransferId> ids = add_ring(graph, hosts, 250'000, rounds);
    graph.edit(ids[3]).start = microseconds(40);
    const SimResult fast = simulated(routes, graph, packet_options());
    expect_same(fast, step_by_step(routes, graph, packet_options()));
    EXPECT_LT(fast.totals.events, rounds < 12 ? 500U : 40U);
  }
}

// Phases that use the same links one after the other, as in a hierarchical all-reduce.
TEST(FlowRepeat, RunsPhasesAfterEachOther) {
  const Network network = star(8, gigabits(100), microseconds(1));
  Routes routes(network, routing(RoutingMode::ecmp));
  const std::vector<NodeId> hosts(network.endpoints().begin(), network.endpoints().end());
  TransferGraph graph;
  const std::vector<TransferId> first = add_ring(graph, hosts, 125'000, 7);
  const std::vector<TransferId> second = add_ring(graph, hosts, 250'000, 14);
  for (std::size_t i = 0; i < 8; ++i) graph.depend(second[i], first[(i + 7) % 8]);
  const SimResult result = simulated(routes, graph, plain_options());
  EXPECT_EQ(result.end, microseconds(7 * 12 + 14 * 22));
}

TEST(FlowRepeat, RoundsWaitBehindEachOtherOnOneConnection) {
  // Member 1 is ten times slower, so rounds delivered by member 0 queue up before it; they are still sent in order.
  const Network network = star(3, gigabits(100), microseconds(0));
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  Transfer fast = send(network.endpoints()[0], network.endpoints()[1], 125'000);
  fast.rounds = 10;
  const TransferId leader = graph.add(fast);
  Transfer slow = send(network.endpoints()[1], network.endpoints()[2], 1'250'000);
  slow.rounds = 10;
  slow.round_after = leader;
  graph.add(slow);
  const SimResult result = simulated(routes, graph, plain_options());
  EXPECT_EQ(result.finished[0], microseconds(100));
  EXPECT_EQ(result.finished[1], microseconds(1000));
  EXPECT_EQ(result.started[1], SimTime());
}

// If exact completions cost too much, those within 2e-7 x flows of a flow's own time (here 0.04 %) are merged.
TEST(FlowRepeat, TakesEndsTogetherWhereThereAreTooMany) {
  LeafSpineShape shape;
  shape.leaves = 4;
  shape.hosts_per_leaf = 8;
  const Network network = leaf_spine(shape);
  Routes routes(network, routing(RoutingMode::ecmp));
  RandomStream random(2, "many");
  TransferGraph graph;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t from = random.below(32);
    const std::uint64_t to = (from + 1 + random.below(31)) % 32;
    graph.add(send(network.endpoints()[from], network.endpoints()[to], random.between(1'000, 100'000)));
  }
  ASSERT_TRUE(graph.finish(network));
  const SimResult exact = step_by_step(routes, graph, plain_options());
  const SimResult together =
      FlowRun(routes, graph, plain_options(), nullptr, FlowShortcuts{true, true, UINT64_MAX, 0}).run();
  EXPECT_LT(together.totals.solves, exact.totals.solves * 3 / 4);
  EXPECT_NEAR(in_microseconds(together.end) / in_microseconds(exact.end), 1, 4e-4);
  ASSERT_EQ(together.warnings.size(), exact.warnings.size() + 1);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    EXPECT_NEAR(in_microseconds(together.finished[i]) / in_microseconds(exact.finished[i]), 1, 0.01) << i;
  }
}

// Rings too large to simulate that share links: the exact result is between using every link alone and always sharing
// it. Here two rings run in the same direction, and every link is shared by both.
TEST(FlowRepeat, BoundsLargeRingsThatMeet) {
  const Network network = leaf_spine({});
  Routes routes(network, routing(RoutingMode::ecmp));
  const std::vector<NodeId> hosts(network.endpoints().begin(), network.endpoints().end());
  for (const std::int64_t bytes : {64, 500'000}) {
    TransferGraph graph;
    add_ring(graph, hosts, bytes, 254);
    add_ring(graph, hosts, bytes, 254);
    ASSERT_TRUE(graph.finish(network));
    const SimResult exact = step_by_step(routes, graph, plain_options());
    const SimResult bounded = FlowRun(routes, graph, plain_options(), nullptr, FlowShortcuts{true, false, 1, 1}).run();
    // 64 bytes are 1.28 ns of a round of 2 us, so the bounds are close; 500 kB are 10 us of 12 us, so they are not.
    EXPECT_EQ(bounded.warnings.size(), bytes == 64 ? 1U : 0U);
    EXPECT_EQ(bounded.totals.solves == 0, bytes == 64);
    EXPECT_GE(bounded.end, exact.end);
    EXPECT_LE(in_microseconds(bounded.end), in_microseconds(exact.end) * 1.001);
  }
}

// A ring that shares links with ordinary transfers always stays in the solver.
TEST(FlowRepeat, SimulatesRingsThatShareLinksWithTransfers) {
  const Network network = star(4, gigabits(100), microseconds(10));
  Routes routes(network, routing(RoutingMode::ecmp));
  const std::vector<NodeId> hosts(network.endpoints().begin(), network.endpoints().end());
  TransferGraph graph;
  add_ring(graph, hosts, 64, 40);
  graph.add(send(hosts[0], hosts[2], 1'000'000));
  ASSERT_TRUE(graph.finish(network));
  const SimResult bounded = FlowRun(routes, graph, plain_options(), nullptr, FlowShortcuts{true, false, 1, 1}).run();
  EXPECT_TRUE(bounded.warnings.empty());
  expect_same(bounded, step_by_step(routes, graph, plain_options()));
}

}  // namespace
}  // namespace weft::netsim
