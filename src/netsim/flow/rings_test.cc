#include "netsim/flow/rings.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

// The recurrence itself, round by round.
std::vector<SimTime> step_by_step(const std::vector<RingMember>& ring, std::uint32_t rounds) {
  std::vector<SimTime> starts;
  for (const RingMember& member : ring) starts.push_back(member.first);
  for (std::uint32_t s = 1; s < rounds; ++s) {
    const std::vector<SimTime> before = starts;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::size_t leader = (i + ring.size() - 1) % ring.size();
      starts[i] = std::max(before[leader] + ring[leader].move, before[i] + ring[i].send);
    }
  }
  return starts;
}

TEST(LastStarts, LatencyBoundRing) {
  // Two members, 10 to send and 3 of latency: every round starts 13 after the previous one.
  const std::vector<RingMember> ring(2, {SimTime(0), SimTime(10), SimTime(13)});
  EXPECT_EQ(last_starts(ring, 5), (std::vector<SimTime>{SimTime(52), SimTime(52)}));
}

TEST(LastStarts, WaitsForTheSlowMember) {
  // Member 0 needs 100 per round and is the slowest: it starts its last at 9 x 100, and its eighth reaches member 1 105
  // after it started.
  const std::vector<RingMember> ring{{SimTime(0), SimTime(100), SimTime(105)}, {SimTime(0), SimTime(10), SimTime(15)}};
  EXPECT_EQ(last_starts(ring, 10), (std::vector<SimTime>{SimTime(900), SimTime(905)}));
}

TEST(LastStarts, MatchesTheRecurrence) {
  RandomStream random(3, "rings");
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<RingMember> ring(1 + random.below(9));
    const std::int64_t kinds = random.between(1, 4);
    for (RingMember& member : ring) {
      member.first = SimTime(random.chance(0.5) ? 0 : random.between(0, 60));
      member.send = SimTime(random.between(1, kinds) * 10);
      member.move = member.send + SimTime(random.chance(0.3) ? 0 : random.between(0, 12));
    }
    const auto rounds = static_cast<std::uint32_t>(1 + random.below(40));
    ASSERT_EQ(last_starts(ring, rounds), step_by_step(ring, rounds)) << "trial " << trial;
  }
}

TransferGraph graph_of(const Network& network, const std::vector<std::uint32_t>& leaders, std::uint32_t odd_rounds) {
  TransferGraph graph;
  for (std::uint32_t i = 0; i < leaders.size(); ++i) {
    Transfer t;
    t.source = network.endpoints()[i];
    t.destination = network.endpoints()[(i + 1) % leaders.size()];
    t.bytes = Bytes(1);
    t.rounds = i == 0 ? odd_rounds : 4;
    t.round_after = static_cast<TransferId>(leaders[i]);
    graph.add(t);
  }
  EXPECT_TRUE(graph.finish(network));
  return graph;
}

TEST(RingsOf, FindsCyclesInOrderOfFollowing) {
  const Network network = star(6, gigabits(100), microseconds(1));
  // 0 <- 2 <- 1 <- 0 (a cycle of three), 3 by itself, 4 and 5 follow each other.
  const auto rings = rings_of(graph_of(network, {2, 0, 1, 3, 5, 4}, 4));
  ASSERT_EQ(rings.size(), 3U);
  EXPECT_EQ(rings[0], (std::vector<TransferId>{TransferId(0), TransferId(1), TransferId(2)}));
  EXPECT_EQ(rings[1], std::vector<TransferId>{TransferId(3)});
  EXPECT_EQ(rings[2], (std::vector<TransferId>{TransferId(4), TransferId(5)}));
}

TEST(RingsOf, IgnoresIrregularCycles) {
  const Network network = star(6, gigabits(100), microseconds(1));
  EXPECT_TRUE(rings_of(graph_of(network, {2, 0, 1, 0, 3, 4}, 4)).empty());   // 3 also follows 0, and 4, 5 depend on it
  EXPECT_EQ(rings_of(graph_of(network, {2, 0, 1, 3, 5, 4}, 5)).size(), 2U);  // one more round in the first cycle
}

}  // namespace
}  // namespace weft::netsim
