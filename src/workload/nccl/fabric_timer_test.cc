#include "workload/nccl/fabric_timer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "netsim/network/topologies.h"

namespace weft::workload {
namespace {

NcclMachine single_gpu_servers() {
  NcclMachine machine;
  machine.architecture = "hopper";
  machine.node_gpus = 1;
  machine.nics = 1;
  machine.nic = gigabits(400);
  machine.nvswitch = machine.multicast = false;
  machine.pcie = gigabits(512);
  return machine;
}

// Pairs of hosts on different leaves, all at once: with as many uplinks as hosts, spraying loses nothing, and with a
// quarter of them every call takes four times as long. Exact by algebra.
double slowdown_of(std::uint32_t spines, netsim::RoutingMode mode) {
  netsim::LeafSpineShape shape;
  shape.leaves = 4;
  shape.hosts_per_leaf = 8;
  shape.spines = spines;
  shape.host_rate = shape.uplink_rate = gigabits(400);
  const netsim::Network network = netsim::leaf_spine(shape);
  FabricTimerOptions options;
  options.fidelity = netsim::Fidelity::flow;
  options.routing.mode = mode;
  FabricTimer timer(single_gpu_servers(), options, 1, 8);
  timer.use_network(network, {network.endpoints().begin(), network.endpoints().end()});
  OpGroup far{"far", 4, 1, 8};  // one rank per leaf
  return timer.slowdown(netsim::Collective::send_recv, Bytes(64'000'000), far);
}

TEST(FabricTimer, NonblockingFabricHasNoSlowdown) { EXPECT_NEAR(slowdown_of(8, netsim::RoutingMode::spray), 1, 0.03); }

TEST(FabricTimer, TreesOnNonblockingFabricHaveNoSlowdown) {
  netsim::LeafSpineShape shape;
  shape.leaves = 2;
  shape.hosts_per_leaf = 16;
  shape.spines = 16;
  const netsim::Network network = netsim::leaf_spine(shape);
  FabricTimerOptions options;
  options.fidelity = netsim::Fidelity::flow;
  options.routing.mode = netsim::RoutingMode::spray;
  FabricTimer timer(single_gpu_servers(), options, 1, 32);
  timer.use_network(network, {network.endpoints().begin(), network.endpoints().end()});
  const OpGroup world{"world", 32, 1, 1};
  for (const std::int64_t bytes : {1 << 20, 1 << 24, 1 << 28}) {
    EXPECT_NEAR(timer.slowdown(netsim::Collective::all_reduce, Bytes(bytes), world), 1, 0.05) << bytes;
  }
}

TEST(FabricTimer, OversubscriptionSlowsTrafficBetweenLeaves) {
  EXPECT_NEAR(slowdown_of(2, netsim::RoutingMode::spray), 4, 0.15);
}

// Of an all-to-all over 4 leaves of 8 hosts, 24 of 31 messages leave the leaf, over a quarter of the links.
TEST(FabricTimer, TheClosedFormOfAnAllToAllCountsWhatCrosses) {
  FabricTimerOptions options;
  FabricTimer closed(single_gpu_servers(), options, 4, 8);
  const OpGroup all{"all", 32, 1, 1};
  const double factor = closed.slowdown(netsim::Collective::all_to_all, Bytes(64'000'000), all);
  EXPECT_NEAR(factor, 4.0 * 24 / 31, 1e-9);
  netsim::LeafSpineShape shape;
  shape.leaves = 4;
  shape.hosts_per_leaf = 8;
  shape.spines = 2;
  shape.host_rate = shape.uplink_rate = gigabits(400);
  const netsim::Network network = netsim::leaf_spine(shape);
  options.fidelity = netsim::Fidelity::flow;
  options.routing.mode = netsim::RoutingMode::spray;
  FabricTimer simulated(single_gpu_servers(), options, 1, 8);
  simulated.use_network(network, {network.endpoints().begin(), network.endpoints().end()});
  EXPECT_NEAR(simulated.slowdown(netsim::Collective::all_to_all, Bytes(64'000'000), all), factor, 0.15 * factor);
}

// A second job on the same servers simulates nothing again.
TEST(FabricTimer, JobsShareWhatWasSimulated) {
  netsim::LeafSpineShape shape;
  shape.leaves = 2;
  shape.hosts_per_leaf = 4;
  shape.spines = 1;
  const netsim::Network network = netsim::leaf_spine(shape);
  FabricTimerOptions options;
  options.fidelity = netsim::Fidelity::flow;
  options.memory = std::make_shared<FabricMemory>();
  const OpGroup all{"all", 8, 1, 1};
  double first = 0;
  for (const std::size_t simulated : {1U, 0U}) {
    FabricTimer timer(single_gpu_servers(), options, 1, 4);
    timer.use_network(network, {network.endpoints().begin(), network.endpoints().end()});
    const double slowdown = timer.slowdown(netsim::Collective::all_to_all, Bytes(64'000'000), all);
    EXPECT_EQ(timer.findings().size(), simulated);
    if (simulated > 0) first = slowdown;
    EXPECT_EQ(slowdown, first);
  }
  EXPECT_GT(first, 1);
}

TEST(FabricTimer, HashCollisionsSlowTraffic) { EXPECT_GT(slowdown_of(8, netsim::RoutingMode::ecmp), 1.5); }

TEST(FabricTimer, WithinAServerTheFabricDoesNotMatter) {
  FabricTimerOptions options;
  options.tcp = true;
  NcclMachine machine;
  machine.architecture = "hopper";
  machine.nvlink.per_second = Bytes(450'000'000'000);
  machine.nic = gigabits(400);
  FabricTimer timer(machine, options, 4, 8);
  const OpGroup inside{"tensor", 8, 8, 1};
  EXPECT_DOUBLE_EQ(timer.slowdown(netsim::Collective::all_reduce, Bytes(1 << 20), inside), 1);
  const OpGroup outside{"data", 8, 1, 8};
  EXPECT_GT(timer.slowdown(netsim::Collective::all_reduce, Bytes(1 << 20), outside), 1.4);
}

// Four servers of eight GPUs, one leaf per rail, four spines.
class RailServers {
 public:
  RailServers() {
    netsim::NetworkBuilder builder;
    std::vector<netsim::NodeId> hubs;
    netsim::Node node;
    for (std::uint32_t r = 0; r < 32; ++r) {
      node = {};
      node.group = r / 8;
      ranks.push_back(builder.add_node(node, fmt::format("s{}:gpu{}", r / 8, r % 8)));
    }
    node = {};
    node.kind = netsim::NodeKind::network_switch;
    node.buffer = builder.add_buffer({});
    node.tier = 1;
    node.scale_up = true;
    for (std::uint32_t s = 0; s < 4; ++s) hubs.push_back(builder.add_node(node, fmt::format("s{}:nvlink", s)));
    node.scale_up = false;
    std::vector<netsim::NodeId> leaves;
    for (std::uint32_t rail = 0; rail < 8; ++rail) {
      const netsim::NodeId leaf = builder.add_node(node, fmt::format("leaf{}", rail));
      leaves.push_back(leaf);
      for (std::uint32_t s = 0; s < 4; ++s)
        port.push_back(builder.connect(ranks[s * 8 + rail], leaf, gigabits(400), netsim::microseconds(1)));
    }
    node.tier = 2;
    for (std::uint32_t s = 0; s < 4; ++s) {
      const netsim::NodeId spine = builder.add_node(node, fmt::format("spine{}", s));
      for (const netsim::NodeId leaf : leaves) builder.connect(leaf, spine, gigabits(400), netsim::microseconds(1));
    }
    for (std::uint32_t r = 0; r < 32; ++r)
      builder.connect(ranks[r], hubs[r / 8], gigabits(3'600), netsim::nanoseconds(500));
    network = std::move(builder).finish();
    machine.architecture = "hopper";
    machine.nvlink.per_second = Bytes(450'000'000'000);
    machine.nic = gigabits(400);
    machine.pcie = gigabits(512);
  }

  // Slowdown with these faults, divided by the one without.
  double slower(netsim::Collective operation, const OpGroup& group, netsim::Fidelity fidelity,
                const netsim::Network& degraded) {
    FabricTimerOptions settings;
    settings.fidelity = fidelity;
    const BackendFaults faults = faults_from(network, degraded, events);
    FabricTimer timer(machine, settings, 1, 32);
    timer.use_network(network, ranks);
    const double before = timer.slowdown(operation, Bytes(1'000'000'000), group);
    timer.use_faults(faults, judge_faults(faults, ranks, 8, {}, {}, false).ports);
    const double after = timer.slowdown(operation, Bytes(1'000'000'000), group);
    EXPECT_FALSE(timer.problem().has_value());
    return after / before;
  }
  void fail(netsim::LinkId link) {
    netsim::LinkEvent event;
    event.link = link;
    events.link_events.push_back(event);
  }

  netsim::Network network;
  std::vector<netsim::NodeId> ranks;
  std::vector<netsim::LinkId> port;  // by rail, then server
  netsim::SimOptions events;
  NcclMachine machine;
};

const OpGroup kWorld{"world", 32, 8, 1};
const OpGroup kRail{"data", 4, 1, 8};  // a group per GPU of a server

// Rings keep seven of eight rails: 8/7 of the time, by algebra.
TEST(FabricTimer, RingsKeepTheRailsThatAreLeft) {
  for (const netsim::Fidelity fidelity : {netsim::Fidelity::analytic, netsim::Fidelity::flow}) {
    RailServers servers;
    servers.fail(servers.port[4]);  // the second GPU of the first server
    EXPECT_NEAR(servers.slower(netsim::Collective::all_reduce, kWorld, fidelity, servers.network), 8.0 / 7, 0.01);
    servers.fail(servers.port[9]);  // the third one of the second
    EXPECT_NEAR(servers.slower(netsim::Collective::all_reduce, kWorld, fidelity, servers.network), 8.0 / 6, 0.01);
  }
}

// A GPU without a port shares the NIC of another, which has a group of its own.
TEST(FabricTimer, GroupsWithOneRankPerServerShareANic) {
  RailServers servers;
  servers.fail(servers.port[4]);
  EXPECT_NEAR(servers.slower(netsim::Collective::all_reduce, kRail, netsim::Fidelity::flow, servers.network), 2, 0.05);
}

TEST(FabricTimer, ASlowLinkSlowsWhatWaitsForIt) {
  RailServers servers;
  netsim::Network degraded = servers.network;
  degraded.set_rate(servers.port[0], gigabits(100));
  for (const netsim::Fidelity fidelity : {netsim::Fidelity::analytic, netsim::Fidelity::flow})
    EXPECT_NEAR(servers.slower(netsim::Collective::all_reduce, kWorld, fidelity, degraded), 4, 0.05);
}

TEST(FabricTimer, FaultsThatNothingUsesChangeNothing) {
  RailServers servers;
  const OpGroup inside{"tensor", 8, 8, 1};
  servers.fail(servers.port[0]);
  EXPECT_DOUBLE_EQ(servers.slower(netsim::Collective::all_reduce, inside, netsim::Fidelity::flow, servers.network), 1);
}

}  // namespace
}  // namespace weft::workload
