// Cost of the hosts' software: TCP compared with RDMA at every fidelity, and the individual mechanisms by algebra.
#include "netsim/packet/fixture.h"
#include "netsim/traffic/collective.h"
#include "netsim/traffic/traffic.h"

namespace weft::netsim {
namespace {

constexpr Fidelity kFidelities[] = {Fidelity::packet, Fidelity::flow, Fidelity::analytic};

PacketCase hundred_gigabit_hosts() {
  PacketCase fabric(small_fabric(4, 4, 4));
  fabric.routing.mode = RoutingMode::d_mod_k;  // own spine per host: only hosts and NICs can be the bottleneck
  fabric.transport() = TransportOptions{};
  return fabric;
}

void add_shift(PacketCase& fabric) {
  for (std::size_t h = 0; h < 16; ++h) fabric.send(h, (h + 4) % 16, 10'000'000);
}

void add_all_reduce(PacketCase& fabric) {
  CollectiveShape shape;
  shape.bytes = Bytes(64'000'000);
  shape.ranks_per_node = 1;
  add_collective(fabric.graph, fabric.network.endpoints(), shape);
}

// Share of RDMA's throughput that TCP loses.
double lost(Fidelity fidelity, void (*load)(PacketCase&)) {
  PacketCase rdma = hundred_gigabit_hosts();
  rdma.options.fidelity = fidelity;
  load(rdma);
  PacketCase tcp = hundred_gigabit_hosts();
  tcp.options.fidelity = fidelity;
  use_tcp(tcp.options.classes.front());
  load(tcp);
  const SimResult fast = rdma.run();
  const SimResult slow = tcp.run();
  EXPECT_TRUE(fast.complete && slow.complete);
  return 1 - static_cast<double>(fast.end.count()) / static_cast<double>(slow.end.count());
}

// NCCL users without RDMA at 100 Gb/s report 4 to 6 of 12 GB/s (NVIDIA/nccl issue 450).
TEST(HostCost, TcpLosesAThirdToTwoThirdsOfHundredGigabitRdma) {
  for (const Fidelity fidelity : kFidelities) {
    for (auto* load : {add_shift, add_all_reduce}) {
      const double part = lost(fidelity, load);
      EXPECT_GT(part, 0.30) << to_text(fidelity) << (load == add_shift ? " shift" : " all-reduce");
      EXPECT_LT(part, 0.60) << to_text(fidelity) << (load == add_shift ? " shift" : " all-reduce");
    }
  }
}

TEST(HostCost, FlowFollowsPacketWhereHostsAreTheLimit) {
  for (auto* load : {add_shift, add_all_reduce}) {
    PacketCase tcp = hundred_gigabit_hosts();
    use_tcp(tcp.options.classes.front());
    load(tcp);
    const auto packet = static_cast<double>(tcp.run().end.count());
    for (const Fidelity fidelity : {Fidelity::flow, Fidelity::analytic}) {
      tcp.options.fidelity = fidelity;
      EXPECT_NEAR(static_cast<double>(tcp.run().end.count()), packet, packet * 0.03) << to_text(fidelity);
    }
  }
}

// One packet: two links at 100 Gb/s, plus the software of both ends.
TEST(HostCost, MessageIncludesTheOverheadOfBothEnds) {
  for (const Fidelity fidelity : kFidelities) {
    PacketCase one(star(2, gigabits(100), microseconds(1)));
    one.options.fidelity = fidelity;
    const TransferId id = one.send(0, 1, 1000);
    const SimTime without = one.run().finished[model::index_of(id)];
    one.transport().host_overhead = microseconds(5);
    EXPECT_EQ(one.run().finished[model::index_of(id)], without + microseconds(10)) << to_text(fidelity);
  }
}

// Four connections use four cores: 160 Gb/s, and the 100 Gb/s wire is the limit again.
TEST(HostCost, EachConnectionHasItsOwnCore) {
  for (const Fidelity fidelity : kFidelities) {
    PacketCase wire(star(2, gigabits(100), microseconds(1)));
    wire.options.fidelity = fidelity;
    wire.transport().host_limit = gigabits(40);
    const TransferId id = wire.send(0, 1, 10'000'000);
    const double one = in_microseconds(wire.run().end);
    EXPECT_NEAR(one, 10'000'000 * 8 / 40e3, 10) << to_text(fidelity);
    wire.graph.edit(id).queue_pairs = 4;
    EXPECT_NEAR(in_microseconds(wire.run().end), static_cast<double>(wire_bytes(10'000'000)) * 8 / 100e3, 15)
        << to_text(fidelity);
  }
}

// GPUs of one host do not use its network stack.
TEST(HostCost, NvlinkHasNoHostCost) {
  NetworkBuilder builder;
  const NodeId first = builder.add_node({}, "a:gpu0");
  const NodeId second = builder.add_node({}, "a:gpu1");
  Node inside;
  inside.kind = NodeKind::network_switch;
  inside.tier = 1;
  inside.scale_up = true;
  const NodeId nvlink = builder.add_node(inside, "a:nvlink");
  builder.connect(first, nvlink, gigabits(3600), nanoseconds(500));
  builder.connect(second, nvlink, gigabits(3600), nanoseconds(500));
  const Network network = std::move(builder).finish();
  for (const Fidelity fidelity : kFidelities) {
    PacketCase inner(network);
    inner.options.fidelity = fidelity;
    inner.send(0, 1, 10'000'000);
    const SimTime without = inner.run().end;
    inner.transport().host_limit = gigabits(42);
    inner.transport().host_overhead = microseconds(5);
    EXPECT_EQ(inner.run().end, without) << to_text(fidelity);
  }
}

TEST(HostCost, TcpIsLossyUnmarkedAndSlowerThanTheWire) {
  TrafficClassOptions traffic;
  use_tcp(traffic);
  EXPECT_EQ(traffic.transport.kind, Transport::tcp);
  EXPECT_FALSE(traffic.lossless);
  EXPECT_FALSE(traffic.ecn);
  const Network network = star(2, gigabits(100), microseconds(1));
  const HostCost cost = host_cost(traffic.transport, network, network.out_links(network.endpoints()[0])[0]);
  EXPECT_EQ(cost.overhead, microseconds(5));
  EXPECT_EQ(cost.limit.count(), 42'656'250'000) << "42 Gb/s of payload: 4160 bytes on the wire for each 4096";
}

}  // namespace
}  // namespace weft::netsim
