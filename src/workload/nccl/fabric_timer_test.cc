#include "workload/nccl/fabric_timer.h"

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

}  // namespace
}  // namespace weft::workload
