#include "netsim/traffic/collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "netsim/traffic/collective_plan.h"
#include "netsim/traffic/collective_replay.h"

namespace weft::netsim {
namespace {

using fixtures::Cargo;
using fixtures::Made;
using fixtures::make;
using fixtures::Mask;
using fixtures::Replay;
using fixtures::shape_of;

Mask all_of(std::uint32_t ranks) { return ranks == 64 ? ~Mask{0} : (Mask{1} << ranks) - 1; }

// Every rank holds its own contribution to every unit.
void fill_own(Replay& replay) {
  for (std::size_t r = 0; r < replay.held().size(); ++r) {
    for (Mask& unit : replay.held()[r]) unit = Mask{1} << r;
  }
}

std::map<std::uint32_t, std::int64_t> sent_by_rank(const TransferGraph& graph) {
  std::map<std::uint32_t, std::int64_t> sent;
  for (const Transfer& t : graph.transfers()) {
    sent[static_cast<std::uint32_t>(model::index_of(t.source))] += t.bytes.count() * t.rounds;
  }
  return sent;
}

// In round s the rank at position p of a ring of n sends part (p - s) mod n; after n-1 rounds of adding it holds the
// whole sum of part p+1, and the gather rounds continue from there.
Cargo ring_cargo(const TransferGraph& graph, TransferId id, std::uint32_t round, std::uint32_t n, bool reduce_first) {
  const auto position = static_cast<std::uint32_t>(model::index_of(graph[id].source));
  return {{(position + 2 * n - round % n) % n}, reduce_first && round < n - 1};
}

TEST(Ring, AllReduceGivesEveryRankTheSumOfAll) {
  for (const std::uint32_t n : {2U, 3U, 8U, 17U}) {
    const Made made = make(n, shape_of(Collective::all_reduce));
    ASSERT_EQ(made.graph.size(), n);
    for (const std::uint64_t seed : {0ULL, 1ULL, 2ULL, 3ULL}) {
      Replay replay(made.graph, n, n);
      fill_own(replay);
      const std::uint64_t end = replay.run(
          [&](TransferId id, std::uint32_t round) { return ring_cargo(made.graph, id, round, n, true); }, seed);
      EXPECT_TRUE(replay.all_ended());
      if (seed == 0) {
        EXPECT_EQ(end, 2 * (n - 1));  // the critical path, in rounds
      }
      for (const auto& units : replay.held()) {
        for (const Mask unit : units) EXPECT_EQ(unit, all_of(n));
      }
    }
    EXPECT_EQ(made.ends.size(), n);
  }
}

TEST(Ring, AllGatherAndReduceScatterTakeHalfTheRounds) {
  constexpr std::uint32_t kRanks = 9;
  for (const Collective operation : {Collective::all_gather, Collective::reduce_scatter}) {
    const Made made = make(kRanks, shape_of(operation));
    for (const std::uint64_t seed : {0ULL, 5ULL}) {
      Replay replay(made.graph, kRanks, kRanks);
      const bool reduces = operation == Collective::reduce_scatter;
      if (reduces) {
        fill_own(replay);
      } else {
        for (std::uint32_t r = 0; r < kRanks; ++r) replay.held()[r][r] = Mask{1} << r;
      }
      const std::uint64_t end = replay.run(
          [&](TransferId id, std::uint32_t round) { return ring_cargo(made.graph, id, round, kRanks, reduces); }, seed);
      if (seed == 0) {
        EXPECT_EQ(end, kRanks - 1);
      }
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        if (reduces) {
          EXPECT_EQ(replay.held()[r][(r + 1) % kRanks], all_of(kRanks));
        } else {
          for (std::uint32_t unit = 0; unit < kRanks; ++unit) EXPECT_EQ(replay.held()[r][unit], Mask{1} << unit);
        }
      }
    }
  }
}

// 2(n-1)/n S all-reduce, (n-1)/n S the halves, for every rank (formulas of nccl-tests' PERFORMANCE.md).
TEST(Ring, EveryRankSendsTheKnownBytes) {
  for (const auto& [operation, factor] : {std::pair(Collective::all_reduce, 2), std::pair(Collective::all_gather, 1),
                                          std::pair(Collective::reduce_scatter, 1)}) {
    CollectiveShape shape = shape_of(operation);
    shape.bytes = Bytes(64'000'000);
    for (const std::uint32_t channels : {1U, 2U, 8U}) {
      shape.channels = channels;
      const Made made = make(16, shape);
      for (const auto& [rank, bytes] : sent_by_rank(made.graph)) {
        EXPECT_EQ(bytes, factor * 15 * 64'000'000 / 16) << to_text(operation) << " rank " << rank;
      }
    }
  }
}

TEST(Ring, BytesThatDoNotDivideAreRoundedUp) {
  CollectiveShape shape = shape_of(Collective::all_reduce);
  shape.bytes = Bytes(1'000'003);
  shape.channels = 3;
  const Made made = make(7, shape);
  // 1,000,003 / 3 = 333,335 (333,334.3), / 7 = 47,620 (47,619.3)
  ASSERT_FALSE(made.graph.transfers().empty());
  for (const Transfer& t : made.graph.transfers()) EXPECT_EQ(t.bytes, Bytes(47'620));
  shape.bytes = Bytes(1);
  const Made least = make(7, shape);
  ASSERT_EQ(least.graph.transfers().size(), made.graph.transfers().size());
  for (const Transfer& t : least.graph.transfers()) EXPECT_EQ(t.bytes, Bytes(1));
}

TEST(Ring, ChannelsLeaveTheNodeByDifferentRanks) {
  CollectiveShape shape;
  shape.ranks_per_node = 4;
  shape.channels = 4;
  const Made made = make(12, shape);
  std::map<std::uint64_t, std::set<std::uint64_t>> leaving;  // by node: ranks that send to another node
  for (const Transfer& t : made.graph.transfers()) {
    if (model::index_of(t.source) / 4 != model::index_of(t.destination) / 4)
      leaving[model::index_of(t.source) / 4].insert(model::index_of(t.source));
  }
  ASSERT_EQ(leaving.size(), 3U);
  for (const auto& [node, ranks] : leaving) EXPECT_EQ(ranks.size(), 4U);
  EXPECT_EQ(ring_order(12, shape, 1), (std::vector<std::uint32_t>{1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8}));
}

// Transfers between nodes of four, by their sender; each must stay on its rail.
std::map<std::uint64_t, int> leaving_nodes(const Made& made) {
  std::map<std::uint64_t, int> leaving;
  for (const Transfer& t : made.graph.transfers()) {
    if (model::index_of(t.source) / 4 == model::index_of(t.destination) / 4) continue;
    EXPECT_EQ(model::index_of(t.source) % 4, model::index_of(t.destination) % 4);
    ++leaving[model::index_of(t.source)];
  }
  return leaving;
}

TEST(Ring, SameRailStaysOnOneRailBetweenNodes) {
  CollectiveShape shape;
  shape.ranks_per_node = 4;
  shape.channels = 4;
  shape.same_rail = true;
  const std::map<std::uint64_t, int> leaving = leaving_nodes(make(16, shape));
  EXPECT_EQ(leaving.size(), 16U);
  for (const auto& [rank, count] : leaving) EXPECT_EQ(count, 1);
}

TEST(Ring, OnlyRanksWithARailConnectNodes) {
  CollectiveShape shape;
  shape.ranks_per_node = 4;
  shape.channels = shape.rails = 3;
  shape.same_rail = true;
  const std::map<std::uint64_t, int> leaving = leaving_nodes(make(16, shape));
  EXPECT_EQ(leaving.size(), 12U);
  for (const auto& [rank, count] : leaving) {
    EXPECT_EQ(count, 1);
    EXPECT_LT(rank % 4, 3U);
  }
}

TEST(Ring, IncompleteLastNodeIsVisitedToo) {
  CollectiveShape shape;
  shape.ranks_per_node = 4;
  for (std::uint32_t channel = 0; channel < 9; ++channel) {
    std::vector<std::uint32_t> order = ring_order(10, shape, channel);
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(order[i], i);
  }
}

// Parts: g per node, each of k per rail. Phases by id: node rings first, then rails, then node rings.
class HierarchyCargo {
 public:
  HierarchyCargo(const TransferGraph& graph, std::uint32_t g, std::uint32_t k, Collective operation)
      : graph_(graph), g_(g), k_(k), operation_(operation) {}

  Cargo operator()(TransferId id, std::uint32_t round) const {
    const auto rank = static_cast<std::uint32_t>(model::index_of(graph_[id].source));
    const std::uint32_t local = rank % g_;
    const std::uint32_t node = rank / g_;
    const auto phase =
        static_cast<std::uint32_t>(model::index_of(id)) / (g_ * k_) + (operation_ == Collective::all_gather);
    if (phase == 0) return {parts(local + 2 * g_ - round), true};
    const std::uint32_t own = (local + 1) % g_;
    if (phase == 2) return {parts(own + 2 * g_ - round), false};
    const bool adds = operation_ != Collective::all_gather && round < k_ - 1;
    return {{own * k_ + (node + 2 * k_ - round % k_) % k_}, adds};
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> parts(std::uint32_t of_node) const {
    std::vector<std::uint32_t> units;
    for (std::uint32_t j = 0; j < k_; ++j) units.push_back(of_node % g_ * k_ + j);
    return units;
  }
  const TransferGraph& graph_;
  std::uint32_t g_;
  std::uint32_t k_;
  Collective operation_;
};

TEST(Hierarchical, AllReduceGivesEveryRankTheSumOfAll) {
  constexpr std::uint32_t kLocal = 4;
  constexpr std::uint32_t kNodes = 5;
  CollectiveShape shape = shape_of(Collective::all_reduce, Algorithm::hierarchical);
  shape.ranks_per_node = kLocal;
  const Made made = make(kLocal * kNodes, shape);
  ASSERT_EQ(made.graph.size(), 3U * kLocal * kNodes);
  for (const std::uint64_t seed : {0ULL, 1ULL, 2ULL, 3ULL, 4ULL}) {
    Replay replay(made.graph, kLocal * kNodes, kLocal * kNodes);
    fill_own(replay);
    const std::uint64_t end = replay.run(HierarchyCargo(made.graph, kLocal, kNodes, Collective::all_reduce), seed);
    EXPECT_TRUE(replay.all_ended());
    if (seed == 0) {
      EXPECT_EQ(end, 2 * (kLocal - 1) + 2 * (kNodes - 1));
    }
    for (const auto& units : replay.held()) {
      for (const Mask unit : units) EXPECT_EQ(unit, all_of(kLocal * kNodes));
    }
  }
}

TEST(Hierarchical, AllGatherAndReduceScatter) {
  constexpr std::uint32_t kLocal = 4;
  constexpr std::uint32_t kNodes = 3;
  constexpr std::uint32_t kRanks = kLocal * kNodes;
  for (const Collective operation : {Collective::all_gather, Collective::reduce_scatter}) {
    CollectiveShape shape = shape_of(operation, Algorithm::hierarchical);
    shape.ranks_per_node = kLocal;
    const Made made = make(kRanks, shape);
    ASSERT_EQ(made.graph.size(), 2U * kRanks);
    for (const std::uint64_t seed : {0ULL, 7ULL, 8ULL}) {
      Replay replay(made.graph, kRanks, kRanks);
      const auto own = [](std::uint32_t rank) { return (rank % kLocal + 1) % kLocal * kNodes + rank / kLocal; };
      if (operation == Collective::reduce_scatter) {
        fill_own(replay);
      } else {
        for (std::uint32_t r = 0; r < kRanks; ++r) replay.held()[r][own(r)] = Mask{1} << r;
      }
      const std::uint64_t end = replay.run(HierarchyCargo(made.graph, kLocal, kNodes, operation), seed);
      if (seed == 0) {
        EXPECT_EQ(end, kLocal - 1 + kNodes - 1);
      }
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        if (operation == Collective::all_gather) {
          for (std::uint32_t of = 0; of < kRanks; ++of) EXPECT_EQ(replay.held()[r][own(of)], Mask{1} << of);
        } else {
          const std::uint32_t kept = (r % kLocal + 1) % kLocal * kNodes + (r / kLocal + 1) % kNodes;
          EXPECT_EQ(replay.held()[r][kept], all_of(kRanks));
        }
      }
    }
  }
}

// (g-1)/g S within the node in each direction, and 2(k-1)/k S/g on the rail (formulas of the hierarchical algorithm).
TEST(Hierarchical, EveryRankSendsTheKnownBytesOnItsRail) {
  CollectiveShape shape = shape_of(Collective::all_reduce, Algorithm::hierarchical);
  shape.bytes = Bytes(64'000'000);
  shape.channels = 2;
  const Made made = make(64, shape);
  std::map<std::uint64_t, std::int64_t> within;
  std::map<std::uint64_t, std::int64_t> across;
  for (const Transfer& t : made.graph.transfers()) {
    const bool local = model::index_of(t.source) / 8 == model::index_of(t.destination) / 8;
    (local ? within : across)[model::index_of(t.source)] += t.bytes.count() * t.rounds;
    if (!local) {
      EXPECT_EQ(model::index_of(t.source) % 8, model::index_of(t.destination) % 8);
    }
  }
  ASSERT_EQ(within.size(), 64U);
  ASSERT_EQ(across.size(), 64U);
  for (const auto& [rank, bytes] : within) EXPECT_EQ(bytes, 2 * 7 * 64'000'000 / 8);
  for (const auto& [rank, bytes] : across) EXPECT_EQ(bytes, 2 * 7 * 64'000'000 / 8 / 8);
}

TEST(Hierarchical, GrowsWithTheRanksAlone) {
  constexpr std::uint32_t kRanks = 131'072;
  const CollectiveShape shape = shape_of(Collective::all_reduce, Algorithm::hierarchical);
  const Made made = make(kRanks, shape);
  EXPECT_EQ(made.graph.size(), 3U * kRanks);
  std::uint64_t dependencies = 0;
  for (std::uint32_t i = 0; i < made.graph.size(); ++i) {
    dependencies += made.graph.dependency_count(static_cast<TransferId>(i));
  }
  EXPECT_EQ(dependencies, 2U * kRanks);
  EXPECT_EQ(made.ends.size(), kRanks);
}

TEST(Hierarchical, OneNodeOrOneRankPerNodeSkipsPhases) {
  CollectiveShape shape = shape_of(Collective::all_reduce, Algorithm::hierarchical);
  shape.ranks_per_node = 8;
  EXPECT_EQ(make(8, shape).graph.size(), 16U);
  shape.ranks_per_node = 1;
  const Made flat = make(8, shape);
  EXPECT_EQ(flat.graph.size(), 8U);
  EXPECT_EQ(flat.graph.transfers()[0].rounds, 14U);
}

// NCCL's figure of its tree over 14 ranks: 0-8, 8-{4,12}, 4-{2,6}, 12-{10,13}, 2-{1,3}, 6-{5,7}, 10-{9,11}.
TEST(Tree, MatchesNccl) {
  CollectiveShape shape = shape_of(Collective::all_reduce, Algorithm::tree);
  shape.ranks_per_node = 1;
  const RankTree tree = rank_tree(14, shape, 0, false);
  EXPECT_EQ(tree.parent, (std::vector<std::uint32_t>{0, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12}));
  EXPECT_EQ(tree.order[0], 0U);
  // Its mirror image: rank r has the place of 13 - r.
  const RankTree mirror = rank_tree(14, shape, 0, true);
  for (std::uint32_t r = 0; r < 14; ++r) EXPECT_EQ(mirror.parent[r], 13 - tree.parent[13 - r]);
}

// The reason for two trees: no rank has more than two children in both together, so every rank sends each half down at
// most twice and up once.
TEST(Tree, InnerNodesOfOneTreeAreLeavesOfTheOther) {
  for (const Collective operation : {Collective::all_reduce, Collective::broadcast}) {
    CollectiveShape shape = shape_of(operation, Algorithm::tree);
    shape.ranks_per_node = 1;
    for (std::uint32_t n = 2; n <= 70; ++n) {
      const RankTree first = rank_tree(n, shape, 0, false);
      const RankTree second = rank_tree(n, shape, 0, true);
      for (std::uint32_t r = 0; r < n; ++r) {
        EXPECT_LE(first.children(r).size() + second.children(r).size(), 2U) << "rank " << r << " of " << n;
      }
      if (operation == Collective::broadcast) {
        EXPECT_EQ(second.order[0], 0U);
      }
      EXPECT_EQ(first.child_list.size(), n - 1);
      EXPECT_EQ(second.child_list.size(), n - 1);
    }
  }
}

// Units: two trees of `chunks` each. A transfer's unit is the number of earlier transfers on its edge.
class TreeCargo {
 public:
  TreeCargo(const TransferGraph& graph, std::uint32_t chunks, bool reduces) {
    const std::size_t half = graph.size() / 2;
    std::map<std::tuple<bool, NodeId, NodeId, bool>, std::uint32_t> sent;
    const std::size_t steps = reduces ? 2 : 1;
    const std::size_t edges = half / chunks / steps;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const Transfer& t = graph.transfers()[i];
      const bool second = i >= half;
      const bool up = reduces && i % half / edges % 2 == 0;
      const std::uint32_t chunk = sent[{second, t.source, t.destination, up}]++;
      cargo_.push_back({{(second ? chunks : 0) + chunk}, up});
    }
  }
  Cargo operator()(TransferId id, std::uint32_t) const { return cargo_[model::index_of(id)]; }

 private:
  std::vector<Cargo> cargo_;
};

TEST(Tree, AllReduceGivesEveryRankTheSumOfAll) {
  for (const auto& [ranks, per_node] : {std::pair(2U, 1U), std::pair(13U, 1U), std::pair(16U, 1U), std::pair(24U, 4U),
                                        std::pair(22U, 8U), std::pair(6U, 8U)}) {
    CollectiveShape shape = shape_of(Collective::all_reduce, Algorithm::tree);
    shape.ranks_per_node = per_node;
    shape.bytes = Bytes(10'000'000);
    shape.chunk = Bytes(1'000'000);  // 5 in each tree
    const Made made = make(ranks, shape);
    ASSERT_EQ(made.graph.size(), 2U * 2 * 5 * (ranks - 1));
    for (const std::uint64_t seed : {0ULL, 1ULL, 2ULL}) {
      Replay replay(made.graph, ranks, 10);
      fill_own(replay);
      const std::uint64_t end = replay.run(TreeCargo(made.graph, 5, true), seed);
      EXPECT_TRUE(replay.all_ended());
      for (const auto& units : replay.held()) {
        for (const Mask unit : units) EXPECT_EQ(unit, all_of(ranks)) << ranks << " ranks";
      }
      // Up and down the depth of the tree, which is the bit length of the last node's number, and of the chain in a
      // node; then the other four chunks after the first.
      const std::uint32_t nodes = (ranks - 1) / per_node + 1;
      const auto depth = static_cast<std::uint64_t>(std::bit_width(nodes - 1)) + std::min(per_node, ranks) - 1;
      if (seed == 0) {
        EXPECT_LE(end, 2 * depth + 4) << ranks << " ranks";
      }
      if (seed == 0 && per_node == 1) {
        EXPECT_EQ(end, 2 * depth + 4) << ranks << " ranks";
      }
    }
  }
}

// Every rank sends at most 3/2 S and all together 2(n-1) S: each of the halves goes up and down every edge once.
TEST(Tree, BytesOfAllReduce) {
  CollectiveShape shape = shape_of(Collective::all_reduce, Algorithm::tree);
  shape.ranks_per_node = 1;
  shape.bytes = Bytes(64'000'000);
  const Made made = make(32, shape);
  EXPECT_EQ(made.graph.total_bytes(), Bytes(2LL * 31 * 64'000'000));
  for (const auto& [rank, bytes] : sent_by_rank(made.graph)) EXPECT_LE(bytes, 2 * 64'000'000) << rank;
}

TEST(Broadcast, ReachesEveryRankByRingAndTree) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
    CollectiveShape shape = shape_of(Collective::broadcast, algorithm);
    shape.ranks_per_node = 4;
    shape.bytes = Bytes(12'000'000);
    shape.chunk = Bytes(1'000'000);
    const bool ring = algorithm == Algorithm::ring;
    const std::uint32_t chunks = ring ? 12 : 6;
    const Made made = make(14, shape);
    ASSERT_EQ(made.graph.size(), 12U * 13);
    EXPECT_EQ(made.graph.total_bytes(), Bytes(13LL * 12'000'000));
    for (const std::uint64_t seed : {0ULL, 1ULL, 2ULL}) {
      Replay replay(made.graph, 14, 12);
      for (Mask& unit : replay.held()[0]) unit = 1;
      std::uint64_t end = 0;
      if (ring) {
        end = replay.run(
            [&](TransferId id, std::uint32_t) {
              return Cargo{{static_cast<std::uint32_t>(model::index_of(id)) / 13}, false};
            },
            seed);
        if (seed == 0) {
          EXPECT_EQ(end, 13U + 11);  // 13 hops, then the other 11 chunks
        }
      } else {
        end = replay.run(TreeCargo(made.graph, chunks, false), seed);
      }
      EXPECT_TRUE(replay.all_ended());
      for (const auto& units : replay.held()) {
        for (const Mask unit : units) EXPECT_EQ(unit, Mask{1}) << to_text(algorithm);
      }
    }
  }
}

TEST(Broadcast, EveryChannelStartsAtRankZero) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
    CollectiveShape shape = shape_of(Collective::broadcast, algorithm);
    shape.channels = 8;
    const Made made = make(64, shape);
    std::set<NodeId> reached;
    for (std::size_t i = 0; i < made.graph.size(); ++i) {
      const auto id = static_cast<TransferId>(i);
      if (made.graph.dependency_count(id) == 0) {
        EXPECT_EQ(model::index_of(made.graph[id].source), 0U);
      }
      EXPECT_NE(model::index_of(made.graph[id].destination), 0U);
      reached.insert(made.graph[id].destination);
    }
    EXPECT_EQ(reached.size(), 63U);
  }
}

}  // namespace
}  // namespace weft::netsim
