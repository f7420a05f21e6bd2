// Agreement of fidelities: the same transfers on the packet and the flow engine. If the flow engine does not warn, the
// total time must be within 5 % on average and 15 % at worst. bench/fidelity_agreement_bench sweeps more and larger
// cases.
#include <gtest/gtest.h>

#include <cmath>

#include "netsim/packet/fixture.h"
#include "netsim/traffic/collective.h"
#include "netsim/traffic/traffic.h"

namespace weft::netsim {
namespace {

enum class Load { permutation, incast, all_to_all, background, ring };

void add_load(TransferGraph& graph, const Network& network, Load load) {
  TrafficShape shape;
  shape.bytes = Bytes(600'000);
  const auto hosts = network.endpoints();
  switch (load) {
    case Load::permutation:
      return add_permutation(graph, hosts, shape);
    case Load::incast:
      return add_incast(graph, hosts.subspan(1, 8), hosts[0], shape);
    case Load::all_to_all:
      return add_all_to_all(graph, hosts.first(12), 4, shape);
    case Load::background:
      return add_background(graph, network, hosts, 0.3, microseconds(100), shape);
    case Load::ring: {
      CollectiveShape collective;
      collective.bytes = Bytes(8'000'000);
      collective.ranks_per_node = 1;
      (void)add_collective(graph, hosts, collective);
      return;
    }
  }
}

Network fabric(bool three_tiers) {
  if (!three_tiers) {
    LeafSpineShape shape;
    shape.leaves = 4;
    shape.hosts_per_leaf = 8;
    shape.spines = 4;
    return leaf_spine(shape);
  }
  FatTreeShape shape;
  shape.pods = 4;
  shape.tors_per_pod = 2;
  shape.hosts_per_tor = 4;
  shape.aggs_per_pod = 2;
  shape.cores = 4;
  return fat_tree(shape);
}

TEST(Dial, FlowFollowsPacketWhereItDoesNotWarn) {
  double sum = 0;
  int cases = 0;
  for (const bool three_tiers : {false, true}) {
    for (const RoutingMode mode : {RoutingMode::ecmp, RoutingMode::spray}) {
      for (const Load load : {Load::permutation, Load::incast, Load::all_to_all, Load::background, Load::ring}) {
        PacketCase both(fabric(three_tiers));
        both.transport().kind = mode == RoutingMode::spray ? Transport::nscc : Transport::dcqcn;
        both.transport().window = Bytes(0);
        both.routing.mode = mode;
        add_load(both.graph, both.network, load);
        const SimResult packet = both.run();
        both.options.fidelity = Fidelity::flow;
        const SimResult flow = both.run();
        ASSERT_TRUE(packet.complete);
        ASSERT_TRUE(flow.complete);
        if (!flow.warnings.empty()) continue;
        const double error = static_cast<double>(flow.end.count()) / static_cast<double>(packet.end.count()) - 1;
        EXPECT_LT(std::abs(error), 0.15) << to_text(mode) << " load " << static_cast<int>(load) << " " << three_tiers;
        sum += std::abs(error);
        ++cases;
      }
    }
  }
  EXPECT_GE(cases, 12) << "warnings must be the exception";
  EXPECT_LT(sum / cases, 0.05);
}

// One lossy cable of a NIC: the mean of eight seeds on the packet engine.
TEST(Dial, FlowFollowsPacketOnLinksThatLosePackets) {
  for (const Recovery recovery : {Recovery::go_back_n, Recovery::selective}) {
    for (const double loss : {1e-4, 1e-3, 3e-3}) {
      if (recovery == Recovery::selective && loss > 1e-3) continue;  // more timeouts than the model has
      PacketCase both(fabric(false));
      both.transport().kind = Transport::dcqcn;
      both.transport().window = Bytes(0);
      both.transport().recovery = recovery;
      both.transport().timeout = microseconds(300);  // so that timeouts are not too rare for a mean
      both.send(0, 9, 40'000'000);
      LinkEvent event;
      event.kind = LinkEvent::Kind::errors;
      event.link = both.link("host0", "leaf0");
      event.loss = loss;
      both.options.link_events.push_back(event);
      double packet = 0;
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        both.options.seed = seed;
        both.options.fidelity = Fidelity::packet;
        packet += static_cast<double>(both.run().end.count()) / 8;
      }
      both.options.fidelity = Fidelity::flow;
      const double flow = static_cast<double>(both.run().end.count());
      EXPECT_NEAR(flow / packet, 1, 0.15) << loss << " " << static_cast<int>(recovery) << " " << packet / 1e6;
      both.options.fidelity = Fidelity::analytic;
      EXPECT_NEAR(static_cast<double>(both.run().end.count()) / flow, 1, 0.05) << loss;
    }
  }
}

}  // namespace
}  // namespace weft::netsim
