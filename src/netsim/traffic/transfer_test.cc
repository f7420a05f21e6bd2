#include "netsim/traffic/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

class TransferGraphTest : public ::testing::Test {
 protected:
  [[nodiscard]] Transfer move(std::size_t from, std::size_t to, std::int64_t bytes = 100) const {
    Transfer transfer;
    transfer.source = network_.endpoints()[from];
    transfer.destination = network_.endpoints()[to];
    transfer.bytes = Bytes(bytes);
    return transfer;
  }
  // The error of finish() for this one transfer.
  [[nodiscard]] std::string complaint(const Transfer& transfer) const {
    TransferGraph graph;
    graph.add(transfer);
    const Status status = graph.finish(network_);
    return status ? "" : status.error().message;
  }

  Network network_ = star(4, gigabits(100), microseconds(1));
};

TEST_F(TransferGraphTest, DependentsAndFollowersAreGroupedInOrderOfAdding) {
  TransferGraph graph;
  const TransferId a = graph.add(move(0, 1));
  const TransferId b = graph.add(move(1, 2));
  Transfer repeated = move(2, 3);
  repeated.rounds = 3;
  const TransferId c = graph.add(repeated);
  repeated.round_after = c;
  const TransferId d = graph.add(repeated);
  graph.depend(c, a);
  graph.depend(b, a);
  graph.depend(c, b);
  ASSERT_TRUE(graph.finish(network_));
  EXPECT_EQ(std::vector(graph.dependents(a).begin(), graph.dependents(a).end()), (std::vector{c, b}));
  EXPECT_EQ(graph.dependents(c).size(), 0U);
  EXPECT_EQ(graph.dependency_count(c), 2U);
  EXPECT_EQ(graph.dependency_count(a), 0U);
  EXPECT_EQ(std::vector(graph.round_followers(c).begin(), graph.round_followers(c).end()), (std::vector{c, d}));
  EXPECT_EQ(graph.round_followers(a).size(), 0U) << "one round has no next";
  EXPECT_EQ(graph[a].round_after, a);
  EXPECT_EQ(graph.instance_count(), 1U + 1U + 3U + 3U);
  EXPECT_EQ(graph.total_bytes(), Bytes(800));
}

TEST_F(TransferGraphTest, CyclesAreRejected) {
  TransferGraph graph;
  const TransferId a = graph.add(move(0, 1));
  const TransferId b = graph.add(move(1, 2));
  const TransferId c = graph.add(move(2, 3));
  graph.depend(b, a);
  graph.depend(c, b);
  graph.depend(b, c);
  const Status status = graph.finish(network_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message.substr(0, 11), "transfer 1:");
}

// Two rounds of a follow one of b, which waits for a to end.
TEST_F(TransferGraphTest, CyclesThroughRoundsAreRejected) {
  TransferGraph graph;
  Transfer repeated = move(0, 1);
  repeated.rounds = 2;
  repeated.round_after = static_cast<TransferId>(1);
  const TransferId a = graph.add(repeated);
  const TransferId b = graph.add(move(1, 2));
  graph.depend(b, a);
  const Status status = graph.finish(network_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "transfer 0: dependency cycle: it has rounds that follow transfer 1, which depends on transfer 0");
}

// Round 3 of the first needs round 2 of the second, which needs round 1 of the third; two rounds need no third.
TEST_F(TransferGraphTest, CyclesThroughLeadersOfLeaders) {
  const auto finish = [&](std::uint32_t rounds) {
    TransferGraph graph;
    for (std::uint32_t i = 0; i < 3; ++i) {
      Transfer repeated = move(i, i + 1);
      repeated.rounds = rounds;
      repeated.round_after = static_cast<TransferId>(std::min(i + 1, 2U));
      graph.add(repeated);
    }
    graph.depend(static_cast<TransferId>(2), static_cast<TransferId>(0));
    return graph.finish(network_);
  };
  EXPECT_TRUE(finish(2));
  const Status status = finish(3);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "transfer 0: dependency cycle: it has rounds that follow transfer 2, which depends on transfer 0");
}

// A ring whose members begin one after the other, in both directions; and one whose first member waits for the ring.
TEST_F(TransferGraphTest, LargeRingsCostLittle) {
  constexpr std::uint32_t kRing = 100'000;
  for (const bool forwards : {true, false}) {
    for (const bool closed : {false, true}) {
      TransferGraph graph;
      for (std::uint32_t i = 0; i < kRing; ++i) {
        Transfer member = move(i % 4, (i + 1) % 4);
        member.rounds = 2 * (kRing - 1);
        member.round_after = static_cast<TransferId>((forwards ? i + 1 : i + kRing - 1) % kRing);
        graph.add(member);
      }
      TransferId before = graph.add(move(0, 1));
      for (std::uint32_t i = 0; i < kRing; ++i) {
        graph.depend(static_cast<TransferId>(i), before);
        before = graph.add(move(0, 1));
        graph.depend(before, static_cast<TransferId>(kRing + i));
      }
      if (closed) graph.depend(static_cast<TransferId>(kRing), static_cast<TransferId>(7));
      EXPECT_EQ(graph.finish(network_).ok(), !closed);
    }
  }
}

// Runs every possible round until no more can run.
bool all_end(const std::vector<Transfer>& transfers, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  std::vector<std::uint32_t> done(transfers.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const bool begun = std::all_of(edges.begin(), edges.end(), [&](const auto& edge) {
        return edge.first != i || done[edge.second] == transfers[edge.second].rounds;
      });
      if (!begun || done[i] == transfers[i].rounds) continue;
      if (done[i] > 0 && done[model::index_of(transfers[i].round_after)] < done[i]) continue;
      ++done[i];
      moved = true;
    }
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (done[i] < transfers[i].rounds) return false;
  }
  return true;
}

TEST_F(TransferGraphTest, RejectsExactlyTheGraphsThatWouldStall) {
  RandomStream random(7);
  int refused = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    const auto count = static_cast<std::uint32_t>(2 + random.below(6));
    const auto rounds = static_cast<std::uint32_t>(1 + random.below(5));
    TransferGraph graph;
    std::vector<Transfer> transfers;
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (std::uint32_t i = 0; i < count; ++i) {
      Transfer transfer = move(i % 4, (i + 1) % 4);
      transfer.rounds = rounds + static_cast<std::uint32_t>(random.below(2));
      transfer.round_after = static_cast<TransferId>(random.below(count));
      transfers.push_back(transfer);
      graph.add(transfer);
    }
    for (std::uint64_t e = random.below(4); e > 0; --e) {
      const std::uint64_t from = random.below(count);
      edges.emplace_back(from, random.below(count));
      graph.depend(static_cast<TransferId>(edges.back().first), static_cast<TransferId>(edges.back().second));
    }
    const bool ends = all_end(transfers, edges);
    if (!ends) ++refused;
    EXPECT_EQ(graph.finish(network_).ok(), ends) << "turn " << turn;
  }
  EXPECT_GT(refused, 300);
  EXPECT_LT(refused, 2700);
}

TEST_F(TransferGraphTest, DependencyOnItselfIsACycle) {
  TransferGraph graph;
  const TransferId a = graph.add(move(0, 1));
  graph.depend(a, a);
  EXPECT_FALSE(graph.finish(network_));
}

TEST_F(TransferGraphTest, InvalidTransfersAreRejectedWithTheirNumber) {
  EXPECT_EQ(complaint(move(0, 1)), "");
  EXPECT_NE(complaint(move(1, 1)).find("its source is its destination"), std::string::npos);
  EXPECT_NE(complaint(move(0, 1, 0)).find("bytes"), std::string::npos);
  EXPECT_NE(complaint(move(0, 1, -5)).find("bytes"), std::string::npos);
  Transfer bad = move(0, 1);
  bad.destination = network_.find_node("switch0");
  EXPECT_NE(complaint(bad).find("endpoint"), std::string::npos);
  bad.destination = static_cast<NodeId>(99);
  EXPECT_NE(complaint(bad).find("endpoint"), std::string::npos);
  bad = move(0, 1);
  bad.source = model::kNone<NodeId>;
  EXPECT_NE(complaint(bad).find("transfer 0"), std::string::npos);
  bad = move(0, 1);
  bad.rounds = 0;
  EXPECT_NE(complaint(bad).find("rounds"), std::string::npos);
  bad = move(0, 1);
  bad.queue_pairs = 0;
  EXPECT_NE(complaint(bad).find("queue pairs"), std::string::npos);
  bad = move(0, 1);
  bad.start = SimTime(-1);
  EXPECT_NE(complaint(bad).find("before"), std::string::npos);
  bad = move(0, 1);
  bad.rounds = 2;
  bad.round_after = static_cast<TransferId>(1);
  EXPECT_NE(complaint(bad).find("does not exist"), std::string::npos);
}

TEST_F(TransferGraphTest, LeaderMustHaveEnoughRounds) {
  const auto finish = [&](std::uint32_t leader_rounds, std::uint32_t rounds) {
    TransferGraph graph;
    Transfer leader = move(0, 1);
    leader.rounds = leader_rounds;
    const TransferId first = graph.add(leader);
    Transfer follower = move(1, 2);
    follower.rounds = rounds;
    follower.round_after = first;
    graph.add(follower);
    return graph.finish(network_).ok();
  };
  EXPECT_TRUE(finish(4, 5)) << "round 5 follows round 4";
  EXPECT_FALSE(finish(4, 6));
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();
  EXPECT_TRUE(finish(kMax, kMax));
}

TEST_F(TransferGraphTest, DependenciesOutOfRangeAreRejected) {
  TransferGraph graph;
  const TransferId a = graph.add(move(0, 1));
  graph.depend(a, static_cast<TransferId>(12));
  EXPECT_FALSE(graph.finish(network_));
  TransferGraph other;
  other.depend(static_cast<TransferId>(3), other.add(move(0, 1)));
  EXPECT_FALSE(other.finish(network_));
}

TEST_F(TransferGraphTest, SumsSaturate) {
  TransferGraph graph;
  Transfer huge = move(0, 1, std::numeric_limits<std::int64_t>::max());
  huge.rounds = 7;
  graph.add(huge);
  EXPECT_EQ(graph.total_bytes().count(), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace weft::netsim
