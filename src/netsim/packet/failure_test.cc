// Links that fail, flap, drop packets or have a smaller MTU, and how transports react.
#include "netsim/packet/fixture.h"

namespace weft::netsim {
namespace {

LinkEvent event_at(LinkId link, SimTime at, LinkEvent::Kind kind) {
  LinkEvent event;
  event.at = at;
  event.link = link;
  event.kind = kind;
  return event;
}

PacketCase two_spines() {
  PacketCase fabric(small_fabric(2, 2, 2));
  fabric.routing.mode = RoutingMode::d_mod_k;  // host 2 through spine 0, host 3 through spine 1
  fabric.routing.detection = microseconds(100);
  fabric.routing.propagation = microseconds(200);
  fabric.transport().timeout = microseconds(50);
  fabric.transport().retries = 100;
  return fabric;
}

// Extra time of a transfer over a link that fails; its ACKs return through the other spine.
SimTime cost_of_losing(std::string_view from, std::string_view to) {
  PacketCase fabric = two_spines();
  fabric.send(1, 2, 2'000'000);
  const SimTime undisturbed = fabric.run().end;
  fabric.options.link_events.push_back(event_at(fabric.link(from, to), microseconds(40), LinkEvent::Kind::down));
  const SimResult result = fabric.run();
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.totals.dropped, 0U);
  return result.end - undisturbed;
}

// Time lost: from the failure until the leaf detects it, and the retransmissions after a timeout.
TEST(LinkFailure, UplinkIsReplacedOnceItsFailureIsDetected) {
  const SimTime cost = cost_of_losing("leaf0", "spine0");
  EXPECT_GE(cost, microseconds(100));
  EXPECT_LE(cost, microseconds(100 + 2 * 50));
}

TEST(LinkFailure, DownlinkIsAvoidedOnlyAfterConvergence) {
  EXPECT_GE(cost_of_losing("spine0", "leaf1"), microseconds(300));
}

TEST(LinkFailure, TransferSurvivesALinkFlap) {
  PacketCase broken = two_spines();
  broken.send(0, 1, 1'000'000);
  const LinkId only = broken.link("leaf0", "host1");
  broken.options.link_events.push_back(event_at(only, microseconds(20), LinkEvent::Kind::down));
  broken.options.link_events.push_back(event_at(only, microseconds(60), LinkEvent::Kind::up));
  const SimResult result = broken.run();
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.totals.retransmitted, 0U);
}

TEST(LinkFailure, LinkThatStaysDownAbortsItsConnections) {
  PacketCase broken = two_spines();
  broken.transport().retries = 7;
  broken.send(0, 1, 1'000'000);
  broken.send(2, 3, 1'000'000);
  broken.options.link_events.push_back(
      event_at(broken.link("leaf0", "host1"), microseconds(20), LinkEvent::Kind::down));
  const SimResult result = broken.run();
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.totals.broken, 1U);
  EXPECT_EQ(result.totals.timeouts, 7U);
  EXPECT_EQ(result.unfinished, 1U);
  EXPECT_NE(result.finished[1], kNever);
}

TEST(Mtu, SmallerMtuOnThePathPassesAcksButNoData) {
  PacketCase wrong = two_spines();
  wrong.transport().retries = 7;
  wrong.send(0, 1, 100'000);  // full packets: all dropped
  wrong.send(1, 0, 1000);     // small ones pass, so pings and connection setup work
  LinkEvent event = event_at(wrong.link("leaf0", "host1"), {}, LinkEvent::Kind::mtu);
  event.mtu = Bytes(1500);
  wrong.options.link_events.push_back(event);
  const SimResult result = wrong.run();
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.finished[0], kNever);
  EXPECT_NE(result.finished[1], kNever);
  EXPECT_EQ(result.totals.broken, 1U);
}

SimResult lossy(Recovery recovery, double loss) {
  PacketCase wire(star(2, gigabits(100), microseconds(5)));
  wire.transport().recovery = recovery;
  wire.transport().timeout = microseconds(500);
  wire.transport().retries = 1000;
  wire.send(0, 1, 8'000'000);
  LinkEvent event = event_at(wire.link("host0", "switch0"), {}, LinkEvent::Kind::errors);
  event.loss = loss;
  wire.options.link_events.push_back(event);
  return wire.run();
}

TEST(Loss, GoBackNResendsTheWindowAndSelectiveRepeatOnlyLosses) {
  const SimResult clean = lossy(Recovery::go_back_n, 0);
  const SimResult back = lossy(Recovery::go_back_n, 0.002);
  const SimResult selective = lossy(Recovery::selective, 0.002);
  ASSERT_TRUE(back.complete);
  ASSERT_TRUE(selective.complete);
  EXPECT_EQ(clean.totals.retransmitted, 0U);
  EXPECT_GT(back.totals.dropped, 0U);
  EXPECT_GT(selective.totals.dropped, 0U);
  // A round trip of 20 us at 100 Gb/s is 60 packets: each loss costs go-back-N about as many.
  EXPECT_GT(back.totals.retransmitted, 20 * back.totals.dropped);
  EXPECT_LE(selective.totals.retransmitted, 2 * selective.totals.dropped);
  EXPECT_LT(selective.end, back.end);
}

TEST(Loss, TcpRecoversByDuplicateAcks) {
  PacketCase wire(star(2, gigabits(100), microseconds(5)));
  wire.transport().kind = Transport::tcp;
  wire.options.classes.front().lossless = false;
  wire.transport().timeout = microseconds(5000);
  wire.send(0, 1, 8'000'000);
  LinkEvent event = event_at(wire.link("host0", "switch0"), {}, LinkEvent::Kind::errors);
  event.loss = 0.005;
  wire.options.link_events.push_back(event);
  const SimResult result = wire.run();
  ASSERT_TRUE(result.complete);
  ASSERT_GT(result.totals.dropped, 0U);
  EXPECT_GT(result.totals.retransmitted, 0U);
  EXPECT_LT(result.totals.timeouts, result.totals.dropped);
}

TEST(Tcp, SoftwareLimitsOneConnection) {
  PacketCase wire(star(2, gigabits(100), microseconds(1)));
  wire.transport().kind = Transport::tcp;
  wire.options.classes.front().lossless = false;
  wire.transport().host_limit = gigabits(40);
  wire.transport().host_overhead = microseconds(20);
  wire.send(0, 1, 10'000'000);
  const SimResult result = wire.run();
  const SimTime floor = serialization_time(Bytes(10'000'000), gigabits(40)) + microseconds(2 * 20);
  EXPECT_GE(result.end, floor);
  EXPECT_LE(result.end, floor + microseconds(200));
}

}  // namespace
}  // namespace weft::netsim
