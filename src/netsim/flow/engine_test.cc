#include <algorithm>

#include "netsim/flow/fixture.h"

namespace weft::netsim {
namespace {

using namespace flow_tests;

TEST(FlowEngine, SendsOneTransferAtTheLinksRate) {
  const Network network = star(2, gigabits(100), microseconds(1));
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[1], 10'000'000));
  const SimResult result = simulated(routes, graph, plain_options());
  EXPECT_EQ(result.finished[0], microseconds(802));  // 800 us serialization, 2 x 1 us delay
  EXPECT_EQ(result.end, microseconds(802));
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.completion_times, std::vector<SimTime>{microseconds(802)});
}

// 2,442 packets with 64 bytes of header, 6 us of delay, a full packet five more times: 812.50304 + 6 + 5 x 0.3328.
TEST(FlowEngine, CountsHeadersAndStoreAndForward) {
  const Network network = fat_tree({});
  Routes routes(network, routing(RoutingMode::d_mod_k));
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[127], 10'000'000));
  const SimResult result = simulated(routes, graph, packet_options());
  EXPECT_EQ(result.finished[0], picoseconds(812'503'040 + 6'000'000 + 5 * 332'800));
  EXPECT_EQ(result.totals.data_packets, 2442U);
  EXPECT_EQ(result.totals.data_hops, 6U * 2442);
  EXPECT_EQ(result.totals.control_hops, 6U * 2442);
  const LinkId first = network.out_links(network.endpoints()[0])[0];
  EXPECT_EQ(result.links[model::index_of(first)].bytes, Bytes(10'156'288));
  EXPECT_EQ(result.links[model::index_of(first)].busy, picoseconds(812'503'040));
  EXPECT_EQ(result.links[model::index_of(network.link(first).reverse)].bytes, Bytes(2442 * 64));
}

// Data in both directions: each also carries an ACK of 64 bytes for every 4,160 of the other.
TEST(FlowEngine, AcksUseCapacityOfTheReverseDirection) {
  const Network network = star(2, gigabits(100), microseconds(0));
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[1], 4096 * 1000));
  graph.add(send(network.endpoints()[1], network.endpoints()[0], 4096 * 1000));
  const SimResult result = simulated(routes, graph, packet_options());
  EXPECT_EQ(result.finished[0], picoseconds((4160 + 64) * 80 * 1000 + 332'800));
}

TEST(FlowEngine, EndsWithTheLastAckIfConfigured) {
  const Network network = star(2, gigabits(100), microseconds(1));
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[1], 4096));
  SimOptions options = packet_options();
  options.classes[0].transport.ends_at_receiver = false;
  const SimResult result = simulated(routes, graph, options);
  EXPECT_EQ(result.finished[0], picoseconds(2 * (332'800 + 1'000'000) + 2 * (5'120 + 1'000'000)));
}

// 64 senders of 1 MB each into one 100 Gb/s link: it is busy for 64 x 80 us, plus 6 us of delay for the farthest.
TEST(FlowEngine, DrainsAnIncastAtTheReceiversRate) {
  const Network network = fat_tree({});
  Routes routes(network, routing(RoutingMode::d_mod_k));
  TransferGraph graph;
  for (std::uint32_t i = 1; i <= 64; ++i) graph.add(send(network.endpoints()[i], network.endpoints()[0], 1'000'000));
  const SimResult result = simulated(routes, graph, plain_options());
  EXPECT_EQ(result.end, microseconds(5126));
  EXPECT_LE(result.totals.solves, 2U);  // all start at once and end at once
  EXPECT_EQ(result.warnings.size(), 0U);
  // Without a window and without congestion control all 64 MB would arrive at once: PFC would have to pause them.
  SimOptions reckless = packet_options();
  reckless.classes[0].transport.kind = Transport::pfc_only;
  reckless.classes[0].transport.window = gigabytes(1);
  EXPECT_EQ(simulated(routes, graph, reckless).warnings.size(), 1U);
  reckless.classes[0].transport.window = Bytes(10'000);  // 640 kB: fits in a buffer of 32 MB
  EXPECT_EQ(simulated(routes, graph, reckless).warnings.size(), 0U);
}

// Different sizes into one link: processor sharing. Sizes 1..n MB end in order; the k-th at sum over j of
// (n - j + 1) x 80 us for j = 1..k.
TEST(FlowEngine, SharesALinkAsFlowsLeave) {
  const std::uint32_t n = 30;
  const Network network = star(n + 1, gigabits(100), microseconds(0));
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  for (std::uint32_t i = 1; i <= n; ++i) graph.add(send(network.endpoints()[i], network.endpoints()[0], i * 1'000'000));
  const SimResult result = simulated(routes, graph, plain_options());
  SimTime expected;
  for (std::uint32_t k = 1; k <= n; ++k) {
    expected += microseconds(80) * (n - k + 1);
    EXPECT_EQ(result.finished[k - 1], expected) << k;
  }
}

struct PermutationOracle {
  FatTreeShape shape;
  double mean, p50, p99, max;
};

void expect_permutation(const PermutationOracle& oracle) {
  const Network network = fat_tree(oracle.shape);
  Routes routes(network, routing(RoutingMode::d_mod_k));
  TransferGraph graph;
  const auto count = static_cast<std::uint32_t>(network.endpoints().size());
  const std::vector<std::uint32_t> to = random_permutation(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    graph.add(send(network.endpoints()[i], network.endpoints()[to[i]], 10'000'000));
  }
  const Percentiles times = percentiles_of(simulated(routes, graph, plain_options()).completion_times);
  EXPECT_EQ(times.count, count);
  EXPECT_NEAR(in_microseconds(times.mean), oracle.mean, 0.0005);
  EXPECT_NEAR(in_microseconds(times.p50), oracle.p50, 0.0005);
  EXPECT_NEAR(in_microseconds(times.p99), oracle.p99, 0.0005);
  EXPECT_NEAR(in_microseconds(times.max), oracle.max, 0.0005);
}

// Results of an independent max-min computation on the same workload.
TEST(FlowEngine, SolvesTheRandomPermutationOf1024) {
  FatTreeShape shape;
  shape.pods = 16;
  shape.tors_per_pod = shape.hosts_per_tor = shape.aggs_per_pod = 8;
  shape.cores = 64;
  expect_permutation({shape, 1773.090, 1606, 4006, 4006});
}

TEST(FlowEngine, SolvesTheRandomPermutationOf4096) {
  FatTreeShape shape;
  shape.pods = shape.tors_per_pod = shape.hosts_per_tor = shape.aggs_per_pod = 16;
  shape.cores = 256;
  expect_permutation({shape, 1850.553, 1606, 4006, 4806});
}

TEST(FlowEngine, ServesStrictClassesFirstAndOthersByWeight) {
  const Network network = star(4, gigabits(100), microseconds(0));
  Routes routes(network, routing(RoutingMode::ecmp));
  SimOptions options = plain_options();
  options.classes.resize(3, options.classes[0]);
  options.classes[0].weight = 3;
  options.classes[1].priority = 1;
  options.classes[2].priority = 6;
  options.classes[2].strict = true;
  TransferGraph graph;
  for (std::uint8_t c = 0; c < 3; ++c) {
    Transfer t = send(network.endpoints()[c], network.endpoints()[3], 1'000'000);
    t.traffic_class = c;
    graph.add(t);
  }
  const SimResult result = simulated(routes, graph, options);
  EXPECT_EQ(result.finished[2], microseconds(80));
  // Then 3 to 1: the first ends 80 / 0.75 later; the other has sent a third of its bytes, the rest goes at full rate.
  EXPECT_NEAR(in_microseconds(result.finished[0]), 80 + 80 / 0.75, 1e-3);
  EXPECT_NEAR(in_microseconds(result.finished[1]), 240, 1e-3);
}

// A class with many flows gets no more than one with few: the switch schedules classes, not flows.
TEST(FlowEngine, SharesBetweenClassesAndNotTheirFlows) {
  const Network network = star(6, gigabits(100), microseconds(0));
  Routes routes(network, routing(RoutingMode::ecmp));
  SimOptions options = plain_options();
  options.classes.resize(2, options.classes[0]);
  options.classes[1].priority = 1;
  TransferGraph graph;
  for (std::uint32_t i = 0; i < 4; ++i) graph.add(send(network.endpoints()[i], network.endpoints()[5], 1'000'000));
  Transfer other = send(network.endpoints()[4], network.endpoints()[5], 4'000'000);
  other.traffic_class = 1;
  graph.add(other);
  const SimResult result = simulated(routes, graph, options);
  ASSERT_EQ(result.finished.size(), 5U);
  for (const SimTime t : result.finished) EXPECT_NEAR(in_microseconds(t), 640, 1e-3);
}

// Eight endpoints with two 200G ports each: a failed port removes 1/16 of what the host can send.
TEST(FlowEngine, LosesASixteenthOfTheRateWithOnePortOfSixteen) {
  NetworkBuilder builder;
  std::vector<NodeId> senders;
  std::vector<NodeId> receivers;
  Node leaf;
  leaf.kind = NodeKind::network_switch;
  leaf.tier = 1;
  for (int i = 0; i < 8; ++i) senders.push_back(builder.add_node({}, "gpu"));
  for (int i = 0; i < 8; ++i) receivers.push_back(builder.add_node({}, "peer"));
  std::vector<LinkId> ports;
  for (int tor = 0; tor < 2; ++tor) {
    const NodeId id = builder.add_node(leaf, "tor");
    for (const NodeId sender : senders) ports.push_back(builder.connect(sender, id, gigabits(200), SimTime()));
    for (const NodeId receiver : receivers) builder.connect(receiver, id, gigabits(200), SimTime());
  }
  const Network network = std::move(builder).finish();
  const auto host_rate = [&](bool lost) {
    Routes routes(network, routing(RoutingMode::spray));
    if (lost) routes.set_link(ports[3], false);
    TransferGraph graph;
    for (std::size_t i = 0; i < 8; ++i) graph.add(send(senders[i], receivers[i], 50'000'000));
    const SimResult result = simulated(routes, graph, plain_options());
    double rate = 0;
    for (const SimTime t : result.finished) rate += 50e6 * 8 / (static_cast<double>(t.count()) * 1e-12);
    return rate;
  };
  EXPECT_NEAR(host_rate(false), 3.2e12, 1e6);
  EXPECT_NEAR(host_rate(true) / host_rate(false), 15.0 / 16, 1e-9);
}

TEST(FlowEngine, SprayingUsesAllPathsEvenly) {
  FatTreeShape shape;
  const Network network = fat_tree(shape);
  Routes routes(network, routing(RoutingMode::spray));
  TransferGraph graph;
  const std::vector<std::uint32_t> to = random_permutation(128);
  for (std::uint32_t i = 0; i < 128; ++i) {
    graph.add(send(network.endpoints()[i], network.endpoints()[to[i]], 10'000'000));
  }
  const SimResult result = simulated(routes, graph, plain_options());
  EXPECT_LE(result.end, microseconds(806));  // no collisions at all
  EXPECT_EQ(result.totals.solves, 0U);
}

// 10 MB at 100 Gb/s; one of two paths fails at 200 us: 600 us are left when the switch has detected it.
TEST(FlowEngine, StallsUntilAFailureIsDetected) {
  LeafSpineShape shape;
  shape.leaves = 2;
  shape.hosts_per_leaf = 1;
  shape.spines = 2;
  shape.host_rate = shape.uplink_rate = gigabits(100);
  const Network network = leaf_spine(shape);
  RoutingOptions options = routing(RoutingMode::ecmp);
  options.detection = microseconds(1000);
  options.propagation = microseconds(500);
  Routes routes(network, options);
  std::vector<LinkId> way;
  ASSERT_TRUE(routes.path(flow_key(network, network.endpoints()[0], network.endpoints()[1], 0, 1), way));
  for (const std::size_t hop : {std::size_t{1}, std::size_t{2}}) {
    TransferGraph graph;
    graph.add(send(network.endpoints()[0], network.endpoints()[1], 10'000'000));
    SimOptions sim = plain_options();
    sim.link_events.push_back({microseconds(200), way[hop], LinkEvent::Kind::down, 0, {}});
    const SimResult result = simulated(routes, graph, sim);
    // The leaf detects the failure of its own uplink; it learns of the spine's downlink through the routing protocol.
    const SimTime wait = hop == 1 ? microseconds(1000) : microseconds(1500);
    EXPECT_EQ(result.finished[0], microseconds(200 + 600 + 4) + wait);
    EXPECT_TRUE(routes.is_up(way[hop]));  // the caller's routes are restored
    EXPECT_EQ(result.links[model::index_of(way[hop])].bytes, Bytes(2'500'000));
    EXPECT_EQ(result.links[model::index_of(way[0])].bytes, Bytes(10'000'000));
  }
}

TEST(FlowEngine, ReportsTransfersWithoutAPath) {
  const Network network = star(3, gigabits(100), microseconds(1));
  RoutingOptions options = routing(RoutingMode::ecmp);
  options.detection = options.propagation = microseconds(10);
  Routes routes(network, options);
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[1], 10'000'000));
  graph.add(send(network.endpoints()[2], network.endpoints()[1], 1'000'000));
  SimOptions sim = plain_options();
  sim.link_events.push_back(
      {microseconds(400), network.out_links(network.endpoints()[0])[0], LinkEvent::Kind::down, 0, {}});
  const SimResult result = simulated(routes, graph, sim);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.unfinished, 1U);
  EXPECT_EQ(result.finished[0], kNever);
  EXPECT_NE(result.finished[1], kNever);
  ASSERT_FALSE(result.warnings.empty());
  EXPECT_NE(result.warnings[0].find("no route"), std::string::npos);
}

TEST(FlowEngine, StopsAtTheEndTime) {
  const Network network = star(2, gigabits(100), microseconds(1));
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[1], 10'000'000));
  SimOptions options = plain_options();
  options.end = microseconds(300);
  options.series_interval = microseconds(100);
  const SimResult result = simulated(routes, graph, options);
  EXPECT_FALSE(result.complete);
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.end, microseconds(300));
  EXPECT_EQ(result.unfinished, 1U);
  ASSERT_EQ(result.series.size(), 3U);
  for (const SeriesPoint& point : result.series) EXPECT_EQ(point.delivered, Bytes(1'250'000));
}

class StopAtOnce : public SimMonitor {
 public:
  bool on_progress(const SimProgress& progress) override {
    seen = progress;
    return false;
  }
  SimProgress seen;
};

TEST(FlowEngine, StopsWhenTheMonitorReturnsFalse) {
  const Network network = leaf_spine({});
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  TransferId last = model::kNone<TransferId>;
  for (int i = 0; i < 5000; ++i) {
    const TransferId id = graph.add(send(network.endpoints()[0], network.endpoints()[1], 1000));
    if (i > 0) graph.depend(id, last);
    last = id;
  }
  StopAtOnce monitor;
  const SimResult result = simulated(routes, graph, plain_options(), &monitor);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.complete);
  EXPECT_GT(result.unfinished, 0U);
  EXPECT_EQ(monitor.seen.total, 5'000'000U);
  EXPECT_GT(monitor.seen.done, 0U);
  EXPECT_EQ(result.completion_times.size(), 5000 - result.unfinished);
}

// Packets of both wait in the queue of one link, each in proportion to its window: 3 to 1 if round trips are 3 to 1.
TEST(FlowEngine, SharesAQueueByWindows) {
  NetworkBuilder builder;
  std::vector<NodeId> hosts;
  for (int i = 0; i < 3; ++i) hosts.push_back(builder.add_node({}, "host"));
  Node middle;
  middle.kind = NodeKind::network_switch;
  middle.tier = 1;
  const NodeId hub = builder.add_node(middle, "switch");
  for (std::size_t i = 0; i < 3; ++i) builder.connect(hosts[i], hub, gigabits(100), microseconds(i == 1 ? 1 : 0));
  const Network network = std::move(builder).finish();
  Routes routes(network, routing(RoutingMode::ecmp));
  TransferGraph graph;
  graph.add(send(hosts[0], hosts[2], 4096 * 1000));
  graph.add(send(hosts[1], hosts[2], 4096 * 1000));
  const SimResult result = simulated(routes, graph, packet_options());
  const double packet = 0.3328;  // us at 100 Gb/s, and 0.00512 for an ACK
  const double near = 2 * packet + 2 * 0.00512;
  const double far = near + 2;
  EXPECT_NEAR(in_microseconds(result.finished[1]), 1000 * packet * (near + far) / far + 1 + packet, 1e-3);
  EXPECT_NEAR(in_microseconds(result.finished[0]), 2000 * packet + packet, 1e-3);
}

TEST(FlowEngine, WarnsIfMarksWouldSlowSendersDown) {
  const Network network = star(20, gigabits(100), microseconds(2));
  Routes routes(network, routing(RoutingMode::ecmp));
  const auto warnings = [&](std::uint32_t senders) {
    TransferGraph graph;
    for (std::uint32_t i = 1; i <= senders; ++i) {
      graph.add(send(network.endpoints()[i], network.endpoints()[0], 1'000'000));
    }
    return simulated(routes, graph, packet_options()).warnings;
  };
  // A window is 12.5 GB/s x 8.7 us = 108 kB, the threshold 400 kB: 4 x 3/4 of them stay below it, 16 x 15/16 do not.
  EXPECT_TRUE(warnings(4).empty());
  ASSERT_EQ(warnings(16).size(), 1U);
  EXPECT_NE(warnings(16)[0].find("16 flows) would mark packets"), std::string::npos);
}

TEST(FlowEngine, IsDeterministic) {
  const Network network = fat_tree({});
  std::uint64_t hashes[2] = {};
  for (std::uint64_t& hash : hashes) {
    Routes routes(network, routing(RoutingMode::ecmp));
    TransferGraph graph;
    const std::vector<std::uint32_t> to = random_permutation(128);
    for (std::uint32_t i = 0; i < 128; ++i) {
      graph.add(send(network.endpoints()[i], network.endpoints()[to[i]], 1'000'000 + 1000 * i));
    }
    hash = simulated(routes, graph, packet_options()).trace_hash;
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], 0U);
}

TEST(FlowEngine, LimitsAConnectionToItsHostsLimit) {
  const Network network = star(2, gigabits(100), microseconds(10));
  Routes routes(network, routing(RoutingMode::ecmp));
  SimOptions options = plain_options();
  options.classes[0].transport.host_limit = gigabits(25);
  options.classes[0].transport.host_overhead = microseconds(7);
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[1], 1'000'000));
  EXPECT_EQ(simulated(routes, graph, options).end, microseconds(320 + 20 + 14));
}

}  // namespace
}  // namespace weft::netsim
