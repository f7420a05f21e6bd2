// Congestion control compared with its papers: single steps by algebra, shares and queues by simulation.
#include "netsim/packet/congestion.h"

#include <cmath>

#include "netsim/packet/fixture.h"

namespace weft::netsim {
namespace {

DcqcnOptions paper() {
  DcqcnOptions o;
  o.g = 1.0 / 256;
  o.alpha_timer = microseconds(55);
  o.rate_timer = microseconds(55);
  o.byte_counter = Bytes(10'000'000);
  o.fast_recovery = 5;
  o.additive = BitRate(40'000'000);
  o.hyper = BitRate(200'000'000);
  o.cnp_interval = microseconds(50);
  o.clamp_target = true;
  return o;
}

Control at_line_rate() {
  Control control;
  TransportOptions transport;
  start_control(control, transport, gigabits(40), microseconds(10));
  return control;
}

TEST(Dcqcn, FirstNotificationHalvesTheRate) {
  Control control = at_line_rate();
  dcqcn_notify(control, paper(), microseconds(100).count());
  EXPECT_DOUBLE_EQ(control.rate, 20e9);
  EXPECT_DOUBLE_EQ(control.target, 40e9);
  EXPECT_DOUBLE_EQ(control.alpha, 1.0);  // (1-g) 1 + g
}

TEST(Dcqcn, AlphaDecaysWithEachQuietPeriod) {
  Control control = at_line_rate();
  dcqcn_notify(control, paper(), 0);
  (void)dcqcn_advance(control, paper(), microseconds(55 * 4).count(), 0);
  EXPECT_NEAR(control.alpha, std::pow(1 - 1.0 / 256, 4), 1e-12);
}

TEST(Dcqcn, FiveStepsOfFastRecoveryThenAdditiveIncrease) {
  Control control = at_line_rate();
  dcqcn_notify(control, paper(), 0);
  (void)dcqcn_advance(control, paper(), microseconds(55 * 5).count(), 0);
  // Each step halves the distance to the target: 40 - 20/32.
  EXPECT_NEAR(control.rate, 40e9 - 20e9 / 32, 1);
  control.target = 30e9;
  control.rate = 30e9;
  (void)dcqcn_advance(control, paper(), microseconds(55 * 6).count(), 0);
  EXPECT_NEAR(control.target, 30.04e9, 1);
  EXPECT_NEAR(control.rate, 30.02e9, 1);
}

TEST(Dcqcn, HyperIncreaseNeedsBothClocks) {
  Control control = at_line_rate();
  dcqcn_notify(control, paper(), 0);
  (void)dcqcn_advance(control, paper(), microseconds(55 * 6).count(), 59'999'999);
  control.target = control.rate = 10e9;
  (void)dcqcn_advance(control, paper(), microseconds(55 * 6).count(), 1);  // sixth stage of bytes
  EXPECT_NEAR(control.target, 10.2e9, 1);
}

TEST(Dcqcn, CutsAreLimitedToOnePerInterval) {
  Control control = at_line_rate();
  dcqcn_notify(control, paper(), 0);
  dcqcn_notify(control, paper(), microseconds(3).count());
  EXPECT_DOUBLE_EQ(control.rate, 20e9);
}

// The paper's convergence (its figures 2 and 14): flows that start one after the other converge to equal shares.
TEST(Dcqcn, LateFlowGetsItsFairShare) {
  PacketCase pair(star(3, gigabits(40), microseconds(1)));
  pair.transport().kind = Transport::dcqcn;
  pair.transport().dcqcn = paper();
  pair.options.classes.front().ecn_min = Bytes(12'500);  // the paper's 5 KB and 200 KB at 40 Gb/s, P 1 %
  pair.options.classes.front().ecn_max = Bytes(500'000);
  pair.options.classes.front().ecn_probability = 0.01;
  const std::int64_t bytes = 30'000'000;
  pair.send(1, 0, bytes);
  pair.send(2, 0, bytes, microseconds(2000));
  const SimResult result = pair.run();
  ASSERT_TRUE(result.complete);
  // Fluid and fair: the first has 2 ms alone, then half: it ends at 2 + 2 x (6.09 - 2) ms. DCQCN must be within 12 %.
  const double own = static_cast<double>(serialization_time(Bytes(wire_bytes(bytes)), gigabits(40)).count());
  const double fair = 2e9 + 2 * (own - 2e9);
  EXPECT_NEAR(static_cast<double>(result.finished[0].count()), fair, 0.12 * fair);
  EXPECT_EQ(result.totals.dropped, 0U);
}

// The paper's incast (its figure 15): with end-to-end control far fewer pauses than with PFC alone.
TEST(Dcqcn, IncastCausesFarFewerPausesThanPfcAlone) {
  const auto run = [](Transport kind) {
    PacketCase incast(star(17, gigabits(40), microseconds(1)));
    incast.transport().kind = kind;
    incast.transport().window = kNoWindow;
    incast.transport().dcqcn = paper();
    incast.transport().dcqcn.cnp_interval = microseconds(4);
    incast.options.classes.front().ecn_min = Bytes(12'500);
    incast.options.classes.front().ecn_max = Bytes(500'000);
    incast.options.switches.xoff = Bytes(200'000);
    for (std::size_t h = 1; h <= 16; ++h) incast.send(h, 0, 1'500'000);
    return incast.run();
  };
  const SimResult alone = run(Transport::pfc_only);
  const SimResult controlled = run(Transport::dcqcn);
  ASSERT_TRUE(controlled.complete);
  EXPECT_GT(alone.totals.pauses, 100U);
  EXPECT_LT(controlled.totals.pauses, alone.totals.pauses / 4);
}

// Window transports: full utilization by one flow, and fair shares among many with short queues (HPCC figure 11).
TEST(Windows, OneFlowFillsTheLink) {
  for (const Transport kind : {Transport::hpcc, Transport::nscc, Transport::receiver}) {
    PacketCase one(star(2, gigabits(100), microseconds(2)));
    one.transport().kind = kind;
    one.send(0, 1, 8'000'000);
    const SimResult result = one.run();
    const SimTime floor = serialization_time(Bytes(wire_bytes(8'000'000)), gigabits(100));
    ASSERT_TRUE(result.complete);
    EXPECT_LT(static_cast<double>(result.end.count()), static_cast<double>(floor.count()) * 1.12) << to_text(kind);
  }
}

TEST(Windows, IncastIsFairWithShortQueues) {
  for (const Transport kind : {Transport::hpcc, Transport::nscc}) {
    PacketCase incast(star(9, gigabits(100), microseconds(2)));
    incast.transport().kind = kind;
    incast.options.classes.front().ecn_min = Bytes(50'000);
    incast.options.classes.front().ecn_max = Bytes(100'000);
    incast.options.classes.front().ecn_probability = 1;
    for (std::size_t h = 1; h <= 8; ++h) incast.send(h, 0, 2'000'000);
    const SimResult result = incast.run();
    ASSERT_TRUE(result.complete);
    const Percentiles times = percentiles_of(result.completion_times);
    EXPECT_LT(times.max.count(), times.min.count() * 14 / 10) << to_text(kind);
    const LinkStats& last = result.links[model::index_of(incast.link("switch0", "host0"))];
    EXPECT_LT(last.mean_queue, 500'000) << to_text(kind);
    EXPECT_EQ(result.totals.pauses, 0U) << to_text(kind);
  }
}

TEST(Windows, HpccKeepsItsQueueShorterThanDcqcn) {
  const auto queue = [](Transport kind) {
    PacketCase incast(star(9, gigabits(100), microseconds(2)));
    incast.transport().kind = kind;
    incast.transport().window = Bytes(0);
    for (std::size_t h = 1; h <= 8; ++h) incast.send(h, 0, 3'000'000);
    const SimResult result = incast.run();
    return result.links[model::index_of(incast.link("switch0", "host0"))].mean_queue;
  };
  EXPECT_LT(queue(Transport::hpcc), queue(Transport::dcqcn) / 2);
}

// Packets of one flow over all paths: nearly ideal times, but reordering (the case of htsim and UEC for spraying).
TEST(Spraying, SpreadsAPermutationOverAllPaths) {
  const auto run = [](RoutingMode mode) {
    PacketCase many(fat_tree({}));
    many.transport().kind = Transport::nscc;
    many.routing.mode = mode;
    for (std::size_t h = 0; h < 128; ++h) many.send(h, (37 * h + 61) % 128, 400'000);
    return many.run();
  };
  const SimResult hashed = run(RoutingMode::ecmp);
  const SimResult sprayed = run(RoutingMode::spray);
  ASSERT_TRUE(sprayed.complete);
  EXPECT_EQ(hashed.totals.out_of_order, 0U);
  EXPECT_GT(sprayed.totals.out_of_order, 0U);
  const SimTime floor = serialization_time(Bytes(wire_bytes(400'000)), gigabits(100)) + microseconds(6);
  EXPECT_LT(percentiles_of(sprayed.completion_times).max.count(), floor.count() * 3 / 2);
  EXPECT_GT(percentiles_of(hashed.completion_times).max.count(), floor.count() * 2);
}

}  // namespace
}  // namespace weft::netsim
