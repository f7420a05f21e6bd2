// Properties of every collective: dependencies between consecutive ones, its last transfers, the number of transfers.
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "netsim/traffic/collective.h"
#include "netsim/traffic/collective_replay.h"

namespace weft::netsim {
namespace {

using fixtures::Cargo;
using fixtures::hosts;
using fixtures::Made;
using fixtures::make;
using fixtures::Replay;
using fixtures::shape_of;

TEST(AllToAll, PairwiseStepsInLockstepOfNeighbors) {
  const Made made = make(6, shape_of(Collective::all_to_all));
  ASSERT_EQ(made.graph.size(), 30U);
  std::set<std::pair<NodeId, NodeId>> pairs;
  for (const Transfer& t : made.graph.transfers()) {
    pairs.emplace(t.source, t.destination);
    EXPECT_EQ(t.bytes, Bytes(64'000'000 / 6 + 1));
  }
  EXPECT_EQ(pairs.size(), 30U);
  Replay replay(made.graph, 6, 1);
  EXPECT_EQ(replay.run([](TransferId, std::uint32_t) { return Cargo{}; }, 0), 5U);
  EXPECT_TRUE(replay.all_ended());
  for (std::size_t i = 0; i < 30; ++i) {
    // After the first step every rank waits for what it sent and received in the previous step.
    EXPECT_EQ(made.graph.dependency_count(static_cast<TransferId>(i)), i < 6 ? 0U : 2U);
    for (const TransferId next : made.graph.dependents(static_cast<TransferId>(i))) {
      const NodeId goes_on = made.graph[next].source;
      const Transfer& t = made.graph.transfers()[i];
      EXPECT_TRUE(goes_on == t.source || goes_on == t.destination);
    }
  }
}

TEST(SendReceive, EveryRankToTheNext) {
  const Made made = make(5, shape_of(Collective::send_recv));
  ASSERT_EQ(made.graph.size(), 5U);
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(model::index_of(made.graph.transfers()[r].source), r);
    EXPECT_EQ(model::index_of(made.graph.transfers()[r].destination), (r + 1) % 5);
    EXPECT_EQ(made.graph.transfers()[r].bytes, Bytes(64'000'000));
  }
}

TEST(After, RankBeginsWhenItsOwnTransfersHaveEnded) {
  const Network network = hosts(16);
  TransferGraph graph;
  const std::vector<TransferId> first =
      add_collective(graph, network.endpoints().first(8), shape_of(Collective::all_reduce));
  const std::vector<TransferId> second =
      add_collective(graph, network.endpoints().first(8), shape_of(Collective::all_gather), first);
  ASSERT_TRUE(graph.finish(network).ok());
  for (const TransferId id : second) EXPECT_EQ(graph.dependency_count(id), 2U);  // what it sent and what it received
  for (const TransferId id : first) {
    for (const TransferId next : graph.dependents(id)) {
      EXPECT_TRUE(graph[next].source == graph[id].source || graph[next].source == graph[id].destination);
    }
  }
  // Ranks that were not part of the first wait for all of it.
  const std::vector<TransferId> others =
      add_collective(graph, network.endpoints().subspan(8), shape_of(Collective::reduce_scatter), first);
  ASSERT_TRUE(graph.finish(network).ok());
  for (const TransferId id : others) EXPECT_EQ(graph.dependency_count(id), 8U);
}

TEST(After, EveryCollectiveWaitsForThePreviousOne) {
  const Network network = hosts(16);
  for (const Collective operation : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                     Collective::all_to_all, Collective::broadcast, Collective::send_recv}) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical}) {
      TransferGraph graph;
      const auto first = add_collective(graph, network.endpoints(), shape_of(Collective::send_recv));
      (void)add_collective(graph, network.endpoints(), shape_of(operation, algorithm), first);
      ASSERT_TRUE(graph.finish(network).ok());
      for (std::size_t i = first.size(); i < graph.size(); ++i) {
        EXPECT_GT(graph.dependency_count(static_cast<TransferId>(i)), 0U);
      }
      Replay replay(graph, 16, 1);
      (void)replay.run([](TransferId, std::uint32_t) { return Cargo{}; }, 3);
      EXPECT_TRUE(replay.all_ended()) << to_text(operation) << " " << to_text(algorithm);
    }
  }
}

TEST(After, OneRankReturnsItsDependencies) {
  const Network network = hosts(4);
  TransferGraph graph;
  const auto first = add_collective(graph, network.endpoints(), shape_of(Collective::all_reduce));
  EXPECT_EQ(add_collective(graph, network.endpoints().first(1), shape_of(Collective::all_reduce), first), first);
  EXPECT_TRUE(add_collective(graph, {}, shape_of(Collective::all_reduce)).empty());
  EXPECT_EQ(graph.size(), 4U);
}

TEST(Ends, AllTransfersHaveEndedWhenTheLastOnesHave) {
  const Network network = hosts(16);
  for (const Collective operation : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                     Collective::all_to_all, Collective::broadcast, Collective::send_recv}) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical}) {
      CollectiveShape shape = shape_of(operation, algorithm);
      shape.ranks_per_node = 4;
      shape.channels = 2;
      TransferGraph graph;
      const auto ends = add_collective(graph, network.endpoints(), shape);
      ASSERT_TRUE(graph.finish(network).ok());
      const std::set<TransferId> last(ends.begin(), ends.end());
      EXPECT_EQ(last.size(), ends.size());
      for (std::size_t i = 0; i < graph.size(); ++i) {
        const auto id = static_cast<TransferId>(i);
        EXPECT_TRUE(last.contains(id) || !graph.dependents(id).empty()) << to_text(operation) << to_text(algorithm);
      }
    }
  }
}

TEST(AlgorithmUsed, FallsBackToTheRing) {
  EXPECT_EQ(algorithm_used(shape_of(Collective::all_gather, Algorithm::tree), 16), Algorithm::ring);
  EXPECT_EQ(algorithm_used(shape_of(Collective::broadcast, Algorithm::tree), 16), Algorithm::tree);
  EXPECT_EQ(algorithm_used(shape_of(Collective::all_reduce, Algorithm::hierarchical), 16), Algorithm::hierarchical);
  EXPECT_EQ(algorithm_used(shape_of(Collective::all_reduce, Algorithm::hierarchical), 17), Algorithm::ring);
  EXPECT_EQ(algorithm_used(shape_of(Collective::broadcast, Algorithm::hierarchical), 16), Algorithm::ring);
}

TEST(TransferCount, IsKnownBeforeAdding) {
  EXPECT_EQ(transfer_count(shape_of(Collective::all_to_all), 131'072), 131'072ULL * 131'071ULL);
  EXPECT_EQ(transfer_count(shape_of(Collective::all_reduce), 1), 0U);
  CollectiveShape many = shape_of(Collective::all_reduce, Algorithm::tree);
  many.chunk = Bytes(1);
  many.channels = UINT32_MAX;
  EXPECT_GT(transfer_count(many, UINT32_MAX), kMaxTransfers);
}

// nccl-tests, doc/PERFORMANCE.md.
TEST(BusFactor, MatchesNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::send_recv, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0);
}

}  // namespace
}  // namespace weft::netsim
