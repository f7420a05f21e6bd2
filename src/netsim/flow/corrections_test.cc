#include "netsim/flow/corrections.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

// Host, switch, host: two links of 100 Gb/s and 1 us.
std::vector<LinkId> two_hops(const Network& network) {
  const LinkId up = network.out_links(network.endpoints()[0])[0];
  const LinkId down = network.link(network.out_links(network.endpoints()[1])[0]).reverse;
  return {up, down};
}

TEST(FlowClass, CountsPacketsHeadersAndAcknowledgements) {
  TrafficClassOptions options;
  options.transport.ack_every = 4;
  const SwitchOptions switches;
  const FlowClass c(options, switches);
  EXPECT_EQ(c.packets(Bytes(1)), 1U);
  EXPECT_EQ(c.packets(Bytes(4096)), 1U);
  EXPECT_EQ(c.packets(Bytes(4097)), 2U);
  EXPECT_EQ(c.wire_bytes(Bytes(10'000'000)), Bytes(10'000'000 + 2442 * 64));
  EXPECT_EQ(c.acknowledgements(Bytes(4096 * 9)), 3U);
  EXPECT_DOUBLE_EQ(c.acknowledged_share(), 64.0 / (4 * 4160));
}

TEST(FlowClass, IsPlainWithoutHeadersOnCutThroughSwitches) {
  TrafficClassOptions options;
  options.transport.header = Bytes(0);
  SwitchOptions switches;
  EXPECT_FALSE(FlowClass(options, switches).plain());
  switches.cut_through = true;
  const FlowClass c(options, switches);
  EXPECT_TRUE(c.plain());
  EXPECT_EQ(c.acknowledgements(Bytes(1'000'000)), 0U);
  const Network network = star(2, gigabits(100), microseconds(1));
  EXPECT_EQ(c.latency(network, two_hops(network), Bytes(1'000'000)), microseconds(2));
  EXPECT_EQ(c.weight(network, two_hops(network)), 1);
}

// A full packet of 4,160 bytes takes 332.8 ns at 100 Gb/s, a control packet 5.12 ns.
TEST(FlowClass, AddsDelaysAndStoreAndForward) {
  const Network network = star(2, gigabits(100), microseconds(1));
  TrafficClassOptions options;
  SwitchOptions switches;
  switches.latency = nanoseconds(500);
  const FlowClass c(options, switches);
  EXPECT_EQ(c.latency(network, two_hops(network), Bytes(1'000'000)), picoseconds(2'000'000 + 332'800 + 500'000));
  EXPECT_EQ(c.latency(network, two_hops(network), Bytes(36)), picoseconds(2'000'000 + 8'000 + 500'000));
}

TEST(FlowClass, WindowIsRateTimesRoundTrip) {
  const Network network = star(2, gigabits(100), microseconds(1));
  TrafficClassOptions options;
  const SwitchOptions switches;
  const std::vector<LinkId> way = two_hops(network);
  const double round_trip = 2 * (332.8e-9 + 1e-6) + 2 * (5.12e-9 + 1e-6);
  EXPECT_NEAR(FlowClass(options, switches).window(network, way), 12.5e9 * round_trip, 1);
  options.transport.window = Bytes(50'000);
  EXPECT_EQ(FlowClass(options, switches).window(network, way), 50'000);
  // 50,000 bytes of payload per round trip, plus headers.
  EXPECT_NEAR(FlowClass(options, switches).connection_limit(network, way), 50'000 * 8 * (4160.0 / 4096) / round_trip,
              1e3);
  options.transport.window = kNoWindow;
  EXPECT_TRUE(std::isinf(FlowClass(options, switches).window(network, way)));
  EXPECT_EQ(FlowClass(options, switches).weight(network, way), 1);
}

// Windows of 10, 20, 40.. packets, one round trip each; the product of 100 Gb/s and 100 us is 300.5 packets.
TEST(FlowClass, LosesRoundTripsToSlowStart) {
  const Network network = star(2, gigabits(100), microseconds(1));
  TrafficClassOptions options;
  options.transport.kind = Transport::tcp;
  options.transport.base_rtt = microseconds(100);
  const SwitchOptions switches;
  const FlowClass c(options, switches);
  const std::vector<LinkId> way = two_hops(network);
  // 10 + 20 + 40 + 80 + 160 packets before the window covers the product: five round trips less 310 packets' time.
  EXPECT_EQ(c.start_up(network, way, Bytes(100'000'000), 1e11), picoseconds(500'000'000 - 310 * 332'800));
  // 25 packets: only the first round trip, the second window holds the rest.
  EXPECT_EQ(c.start_up(network, way, Bytes(25 * 4096), 1e11), picoseconds(100'000'000 - 10 * 332'800));
  EXPECT_EQ(c.start_up(network, way, Bytes(1000), 1e11), SimTime());
  options.transport.kind = Transport::dcqcn;
  EXPECT_EQ(FlowClass(options, switches).start_up(network, way, Bytes(100'000'000), 1e11), SimTime());
}

TEST(FlowClass, LimitsHpccToItsTarget) {
  TrafficClassOptions options;
  options.transport.kind = Transport::hpcc;
  const SwitchOptions switches;
  EXPECT_EQ(FlowClass(options, switches).alone(), 0.95);
}

}  // namespace
}  // namespace weft::netsim
