// Lossless behavior: headroom that is sufficient and minimal, pauses that spread, cyclic buffer dependencies, the
// watchdog.
#include <algorithm>

#include "netsim/packet/fixture.h"

namespace weft::netsim {
namespace {

Bytes most_headroom(const SimResult& result) {
  Bytes most;
  for (const LinkStats& link : result.links) most = std::max(most, link.max_headroom);
  return most;
}

SimResult stopped_incast(Bytes headroom) {
  PacketCase incast(star(9, gigabits(100), microseconds(1)));
  incast.options.switches.xoff = Bytes(50'000);
  incast.options.switches.headroom = headroom;
  // In both directions, so that pause frames also have to wait behind full packets.
  for (std::size_t h = 1; h <= 8; ++h) incast.send(h, 0, 400'000);
  for (std::size_t h = 1; h <= 8; ++h) incast.send(0, h, 400'000);
  return incast.run();
}

TEST(Pfc, HeadroomIsSufficientAndTight) {
  const SimResult roomy = stopped_incast({});
  ASSERT_TRUE(roomy.complete);
  EXPECT_GT(roomy.totals.pauses, 0U);
  EXPECT_EQ(roomy.totals.dropped, 0U);
  // By algebra: 2 us of cable at 100 Gb/s, the pause frame, the packet that crossed the threshold, one that was leaving
  // in the reverse direction and one that the sender had begun. A cell is 192 bytes, a full packet 22 of them.
  const std::int64_t packet = 22 * 192;
  const std::int64_t worst = (25'000 + 64 + 4159) / 4160 * packet + 3 * packet;
  const Bytes needed = most_headroom(roomy);
  EXPECT_LE(needed.count(), worst);
  EXPECT_GE(needed.count(), worst - 2 * packet);

  EXPECT_EQ(stopped_incast(needed).totals.dropped, 0U);
  EXPECT_GT(stopped_incast(needed - Bytes(192)).totals.dropped, 0U);
}

TEST(Pfc, SameTrafficLosesPacketsWithoutPfc) {
  PacketCase incast(star(9, gigabits(100), microseconds(1), {Bytes(400'000), Bytes(192)}));
  for (std::size_t h = 1; h <= 8; ++h) incast.send(h, 0, 400'000);
  incast.options.switches.pfc = false;
  incast.transport().timeout = microseconds(200);
  incast.transport().retries = 1000;
  const SimResult result = incast.run();
  EXPECT_GT(result.totals.dropped, 0U);
  EXPECT_EQ(result.totals.pauses, 0U);
  EXPECT_GT(result.totals.retransmitted, 0U);
}

// Host 0 on leaf 0 is the target of an incast; a flow between two other hosts that shares only one link is slowed down.
SimResult with_victim(bool pfc_spreads) {
  PacketCase fabric(small_fabric(3, 4, 1));
  fabric.options.switches.xoff = Bytes(60'000);
  if (!pfc_spreads) fabric.transport().kind = Transport::dcqcn;
  if (!pfc_spreads) fabric.transport().window = Bytes(0);
  // Leaf 1's hosts congest host 0; host 7 (leaf 1) sends to host 1 (leaf 0), whose own link is idle.
  fabric.send(7, 1, 400'000);
  for (const std::size_t h : {4U, 5U, 6U}) fabric.send(h, 0, 1'000'000);
  for (const std::size_t h : {1U, 2U, 3U}) fabric.send(h, 0, 1'000'000);
  return fabric.run();
}

TEST(Pfc, PausesSpreadToAVictimOfTheSameLink) {
  const SimResult result = with_victim(true);
  ASSERT_TRUE(result.complete);
  EXPECT_GT(result.totals.pauses, 0U);
  // With its fair share of the shared uplink (4 flows) it would end within 4 x its own time; head-of-line blocking
  // makes it wait for traffic to host 0 (which gets a sixth of a link).
  const double own = static_cast<double>(serialization_time(Bytes(wire_bytes(400'000)), gigabits(100)).count());
  EXPECT_GT(static_cast<double>(result.finished[0].count()), 5 * own);
}

TEST(Pfc, PauseRecordsNameTheCause) {
  PacketCase incast(star(9, gigabits(100), microseconds(1)));
  incast.options.switches.xoff = Bytes(50'000);
  for (std::size_t h = 1; h <= 8; ++h) incast.send(h, 0, 400'000);
  const SimResult result = incast.run();
  ASSERT_FALSE(result.pauses.empty());
  for (const PauseRecord& record : result.pauses) {
    if (record.stop) {
      EXPECT_EQ(record.cause, incast.link("switch0", "host0"));
    }
    EXPECT_EQ(record.priority, 3);
  }
  const LinkStats& stopped = result.links[model::index_of(incast.link("host1", "switch0"))];
  EXPECT_GT(stopped.pauses, 0U);
  EXPECT_GT(stopped.paused.count(), 0);
}

// Five switches in a ring, flows two switches on: every link of the cycle waits for the next one.
PacketCase cycle(bool up_down) {
  PacketCase ring(ring_of_switches(5, 2, gigabits(100), microseconds(1), {Bytes(3'000'000), Bytes(192)}));
  ring.options.switches.xoff = Bytes(40'000);
  ring.routing.up_down = up_down;
  for (std::size_t h = 0; h < 10; ++h) ring.send(h, (h + 4) % 10, 2'000'000);
  return ring;
}

TEST(Deadlock, CyclicBufferDependencyDeadlocks) {
  const SimResult result = cycle(false).run();
  EXPECT_FALSE(result.complete);
  EXPECT_TRUE(result.deadlock);
  EXPECT_EQ(result.deadlock_cycle.size(), 5U);
}

TEST(Deadlock, UpDownRoutesDoNotDeadlock) {
  const SimResult result = cycle(true).run();
  EXPECT_TRUE(result.complete);
  EXPECT_FALSE(result.deadlock);
  EXPECT_EQ(result.totals.dropped, 0U);
}

TEST(Deadlock, WatchdogClearsADeadlock) {
  PacketCase ring = cycle(false);
  ring.options.switches.watchdog = Watchdog::drop;
  ring.options.switches.watchdog_detection = microseconds(500);
  ring.options.switches.watchdog_restoration = microseconds(500);
  ring.transport().timeout = microseconds(2000);
  ring.transport().retries = 1000;
  const SimResult result = ring.run();
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.totals.watchdog_trips, 0U);
  EXPECT_GT(result.totals.dropped, 0U);
}

// A NIC that pauses its leaf forever, and flows to its neighbors across the same uplinks.
SimResult storm(Watchdog watchdog) {
  PacketCase fabric(small_fabric(2, 4, 1, gigabits(400)));
  fabric.options.switches.xoff = Bytes(60'000);
  fabric.options.switches.watchdog = watchdog;
  fabric.options.switches.watchdog_detection = microseconds(300);
  fabric.options.switches.watchdog_restoration = microseconds(300);
  fabric.transport().timeout = microseconds(5000);
  fabric.transport().retries = 2;
  fabric.options.pause_storms.push_back({fabric.network.endpoints()[4], {}, kNever});
  for (std::size_t h = 0; h < 4; ++h) {
    fabric.send(h, 4, 500'000);
    fabric.send(h, 5 + h % 3, 500'000);
  }
  return fabric.run();
}

TEST(Storm, OneNicPausesItsNeighborsUntilTheWatchdogActs) {
  const SimResult unguarded = storm(Watchdog::off);
  EXPECT_FALSE(unguarded.complete);
  std::size_t innocent = 0;
  for (std::size_t t = 1; t < 8; t += 2) innocent += unguarded.finished[t] == kNever ? 1U : 0U;
  EXPECT_EQ(innocent, 4U) << "flows to healthy hosts must be stuck behind those to the broken one";

  const SimResult guarded = storm(Watchdog::drop);
  EXPECT_GT(guarded.totals.watchdog_trips, 0U);
  for (std::size_t t = 1; t < 8; t += 2) EXPECT_NE(guarded.finished[t], kNever) << t;
}

TEST(Storm, FirstPauseHasNoCauseAndLaterOnesDo) {
  const SimResult result = storm(Watchdog::off);
  ASSERT_FALSE(result.pauses.empty());
  EXPECT_EQ(result.pauses.front().cause, model::kNone<LinkId>);
  const bool spread = std::any_of(result.pauses.begin(), result.pauses.end(), [&](const PauseRecord& record) {
    return record.stop && record.cause == result.pauses.front().stopped;
  });
  EXPECT_TRUE(spread);
}

}  // namespace
}  // namespace weft::netsim
