#include "netsim/traffic/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

std::vector<NodeId> ranks_of(const Network& network) {
  return {network.endpoints().begin(), network.endpoints().end()};
}

TEST(Permutation, EveryEndpointSendsOnceAndReceivesOnceAndNeverFromItself) {
  const Network network = star(257, gigabits(100), microseconds(1), {});
  for (const std::uint64_t seed : {0ULL, 1ULL, 2ULL, 77ULL}) {
    TransferGraph graph;
    TrafficShape shape;
    shape.seed = seed;
    add_permutation(graph, network.endpoints(), shape);
    ASSERT_EQ(graph.size(), 257U);
    std::set<NodeId> sources;
    std::set<NodeId> destinations;
    for (const Transfer& t : graph.transfers()) {
      EXPECT_NE(t.source, t.destination);
      sources.insert(t.source);
      destinations.insert(t.destination);
    }
    EXPECT_EQ(sources.size(), 257U);
    EXPECT_EQ(destinations.size(), 257U);
    EXPECT_TRUE(graph.finish(network).ok());
  }
}

TEST(Permutation, SmallestPermutations) {
  const Network network = star(2, gigabits(100), microseconds(1), {});
  TransferGraph graph;
  add_permutation(graph, network.endpoints(), {});
  ASSERT_EQ(graph.size(), 2U);
  EXPECT_EQ(graph.transfers()[0].destination, network.endpoints()[1]);
  EXPECT_EQ(graph.transfers()[1].destination, network.endpoints()[0]);
  TransferGraph none;
  add_permutation(none, network.endpoints().first(1), {});
  add_permutation(none, {}, {});
  EXPECT_EQ(none.size(), 0U);
}

TEST(Permutation, ShapesAreCopiedToTransfers) {
  const Network network = star(8, gigabits(100), microseconds(1), {});
  TransferGraph graph;
  TrafficShape shape;
  shape.bytes = Bytes(4321);
  shape.start = microseconds(7);
  shape.traffic_class = 2;
  shape.queue_pairs = 4;
  shape.tag = 9;
  add_permutation(graph, network.endpoints(), shape);
  ASSERT_EQ(graph.transfers().size(), 8U);
  for (const Transfer& t : graph.transfers()) {
    EXPECT_EQ(t.bytes, Bytes(4321));
    EXPECT_EQ(t.start, microseconds(7));
    EXPECT_EQ(t.traffic_class, 2);
    EXPECT_EQ(t.queue_pairs, 4);
    EXPECT_EQ(t.tag, 9);
    EXPECT_EQ(t.rounds, 1U);
  }
}

TEST(AffinePermutation, LeavesFixedPointsOutAndDoesNotOverflow) {
  const Network network = star(10, gigabits(100), microseconds(1), {});
  TransferGraph graph;
  add_affine_permutation(graph, network.endpoints(), 3, 0, {});  // 3i = i mod 10 for i = 0 and 5
  EXPECT_EQ(graph.size(), 8U);
  TransferGraph large;
  // 2^64 - 1 = 5 mod 10, so the image is 5i + 5 mod 10: 5 for even i, 0 for odd i; 5 itself goes to 0.
  add_affine_permutation(large, network.endpoints(), UINT64_MAX, UINT64_MAX, {});
  ASSERT_EQ(large.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(large.transfers()[i].destination, network.endpoints()[i % 2 == 0 ? 5 : 0]);
  }
}

TEST(Incast, TheTargetDoesNotSendToItself) {
  const Network network = star(9, gigabits(100), microseconds(1), {});
  TransferGraph graph;
  add_incast(graph, network.endpoints(), network.endpoints()[3], {});
  ASSERT_EQ(graph.size(), 8U);
  for (const Transfer& t : graph.transfers()) {
    EXPECT_EQ(t.destination, network.endpoints()[3]);
    EXPECT_NE(t.source, network.endpoints()[3]);
  }
}

TEST(AllToAll, EveryPairOnceAndOneSenderPerReceiverAndStep) {
  const Network network = star(7, gigabits(100), microseconds(1), {});
  TransferGraph graph;
  add_all_to_all(graph, network.endpoints(), 0, {});
  ASSERT_EQ(graph.size(), all_to_all_count(7));
  ASSERT_EQ(graph.size(), 42U);
  std::set<std::pair<NodeId, NodeId>> pairs;
  for (const Transfer& t : graph.transfers()) pairs.emplace(t.source, t.destination);
  EXPECT_EQ(pairs.size(), 42U);
  std::map<NodeId, std::vector<NodeId>> by_source;
  for (const Transfer& t : graph.transfers()) by_source[t.source].push_back(t.destination);
  for (std::size_t step = 0; step < 6; ++step) {
    std::set<NodeId> hit;
    for (const auto& [source, destinations] : by_source) hit.insert(destinations[step]);
    EXPECT_EQ(hit.size(), 7U) << "step " << step;
  }
}

// With a window of w the k-th send of a rank waits for its (k-w)-th: N-1-w dependencies per rank, and as many rounds as
// windows in the longest chain.
TEST(AllToAll, DependenciesEnforceTheWindow) {
  const Network network = star(7, gigabits(100), microseconds(1), {});
  TransferGraph graph;
  add_all_to_all(graph, network.endpoints(), 2, {});
  ASSERT_TRUE(graph.finish(network).ok());
  std::vector<int> depth(graph.size(), 1);
  std::map<NodeId, int> free_ones;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<TransferId>(i);
    EXPECT_LE(graph.dependency_count(id), 1U);
    if (graph.dependency_count(id) == 0) ++free_ones[graph[id].source];
    for (const TransferId next : graph.dependents(id)) {
      EXPECT_EQ(graph[next].source, graph[id].source);
      depth[model::index_of(next)] = depth[i] + 1;
    }
  }
  for (const auto& [source, count] : free_ones) EXPECT_EQ(count, 2);
  EXPECT_EQ(*std::max_element(depth.begin(), depth.end()), 3);
  EXPECT_EQ(all_to_all_count(1), 0U);
  EXPECT_EQ(all_to_all_count(131'072), 131'072ULL * 131'071ULL);
}

TEST(Storage, ReadsAndCheckpointsSpreadEvenlyAndKeepTheBytes) {
  const Network network = star(12, gigabits(100), microseconds(1), {});
  const auto ends = ranks_of(network);
  const std::span<const NodeId> clients(ends.data(), 8);
  const std::span<const NodeId> targets(ends.data() + 8, 4);
  TrafficShape shape;
  shape.bytes = Bytes(1001);
  for (const bool reads : {true, false}) {
    TransferGraph graph;
    if (reads) {
      add_storage_reads(graph, clients, targets, 3, shape);
    } else {
      add_checkpoint(graph, clients, targets, 3, shape);
    }
    ASSERT_EQ(graph.size(), 24U);
    std::map<NodeId, int> by_target;
    std::map<NodeId, std::int64_t> by_client;
    for (const Transfer& t : graph.transfers()) {
      ++by_target[reads ? t.source : t.destination];
      by_client[reads ? t.destination : t.source] += t.bytes.count();
    }
    EXPECT_EQ(by_target.size(), 4U);
    for (const auto& [target, count] : by_target) EXPECT_EQ(count, 6);
    EXPECT_EQ(by_client.size(), 8U);
    for (const auto& [client, bytes] : by_client) EXPECT_EQ(bytes, 3 * 334);  // 1001 / 3 rounded up
  }
  TransferGraph none;
  add_storage_reads(none, clients, {}, 3, shape);
  EXPECT_EQ(none.size(), 0U);
  add_checkpoint(none, clients, targets, 0, shape);
  EXPECT_EQ(none.size(), 8U);
}

// A Poisson process of rate m has m arrivals, give or take sqrt(m); gaps of an exponential have a standard deviation
// equal to their mean.
TEST(Background, ArrivalsArePoissonAtTheRequestedLoad) {
  const Network network = star(16, gigabits(100), microseconds(1), {});
  TrafficShape shape;
  shape.bytes = Bytes(125'000);  // 10 us at 100 Gb/s
  shape.start = microseconds(500);
  TransferGraph graph;
  add_background(graph, network, network.endpoints(), 0.4, microseconds(10'500), shape);
  // 10 ms at 40 % is 400 transfers per endpoint, 6,400 in total; 5 sigma is 400.
  EXPECT_DOUBLE_EQ(background_count(network, network.endpoints(), 0.4, microseconds(10'500), shape), 6400);
  EXPECT_NEAR(static_cast<double>(graph.size()), 6400, 400);
  std::map<NodeId, std::vector<double>> starts;
  std::map<NodeId, int> received;
  for (const Transfer& t : graph.transfers()) {
    EXPECT_NE(t.source, t.destination);
    EXPECT_GE(t.start, microseconds(500));
    EXPECT_LT(t.start, microseconds(10'500));
    starts[t.source].push_back(in_microseconds(t.start));
    ++received[t.destination];
  }
  double sum = 0;
  double squares = 0;
  int count = 0;
  for (const auto& [source, times] : starts) {
    for (std::size_t i = 1; i < times.size(); ++i) {
      const double gap = times[i] - times[i - 1];
      EXPECT_GE(gap, 0);
      sum += gap;
      squares += gap * gap;
      ++count;
    }
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 25, 1.6);  // microseconds; 5 sigma
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean) / mean, 1, 0.1);
  EXPECT_EQ(received.size(), 16U);
  for (const auto& [node, n] : received) EXPECT_NEAR(n, 400, 100);
}

TEST(Background, EveryEndpointHasItsOwnRandomStream) {
  const Network network = star(8, gigabits(100), microseconds(1), {});
  TrafficShape shape;
  shape.bytes = Bytes(1'000'000);
  TransferGraph all;
  TransferGraph fast;
  add_background(all, network, network.endpoints(), 0.2, microseconds(5'000), shape);
  add_background(fast, network, network.endpoints(), 0.2, microseconds(2'500), shape);
  std::vector<SimTime> early;
  for (const Transfer& t : all.transfers()) {
    if (t.start < microseconds(2'500)) early.push_back(t.start);
  }
  std::vector<SimTime> cut;
  for (const Transfer& t : fast.transfers()) cut.push_back(t.start);
  EXPECT_EQ(early, cut);  // a longer run only adds
  shape.seed = 2;
  TransferGraph other;
  add_background(other, network, network.endpoints(), 0.2, microseconds(5'000), shape);
  ASSERT_GT(other.size(), 0U);
  EXPECT_NE(other.transfers()[0].start, all.transfers()[0].start);
}

TEST(Background, ScaleUpLinksDoNotCount) {
  NetworkBuilder builder;
  Node plain;
  plain.kind = NodeKind::network_switch;
  Node scale_up = plain;
  scale_up.scale_up = true;
  const NodeId leaf = builder.add_node(plain, "leaf");
  const NodeId nvswitch = builder.add_node(scale_up, "nvswitch");
  for (int i = 0; i < 2; ++i) {
    const NodeId host = builder.add_node({}, i == 0 ? "a" : "b");
    builder.connect(host, leaf, gigabits(400), microseconds(1));
    builder.connect(host, nvswitch, gigabits(3600), microseconds(1));
  }
  const Network network = std::move(builder).finish();
  TrafficShape shape;
  shape.bytes = Bytes(50'000);  // 1 us at 400 Gb/s
  EXPECT_DOUBLE_EQ(background_count(network, network.endpoints(), 0.5, microseconds(100), shape), 100);
}

TEST(Background, HandlesNoLoadAndTooMuchLoad) {
  const Network network = star(4, gigabits(100), microseconds(1), {});
  TransferGraph none;
  add_background(none, network, network.endpoints(), 0, microseconds(100), {});
  add_background(none, network, network.endpoints(), -1, microseconds(100), {});
  add_background(none, network, network.endpoints(), 0.5, SimTime(0), {});
  add_background(none, network, network.endpoints().first(1), 0.5, microseconds(100), {});
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(background_count(network, network.endpoints().first(1), 0.5, microseconds(100), {}), 0);
  // One byte at 100 Gb/s for the maximum time: far beyond the limit, which the count reports in advance.
  TrafficShape shape;
  shape.bytes = Bytes(1);
  EXPECT_GT(background_count(network, network.endpoints(), 1, kNever, shape), static_cast<double>(kMaxTransfers));
}

}  // namespace
}  // namespace weft::netsim
