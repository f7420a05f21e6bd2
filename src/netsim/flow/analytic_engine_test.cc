#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/random.h"
#include "netsim/network/topologies.h"
#include "netsim/sim/simulate.h"

namespace weft::netsim {
namespace {

Transfer send(NodeId from, NodeId to, std::int64_t bytes) {
  Transfer t;
  t.source = from;
  t.destination = to;
  t.bytes = Bytes(bytes);
  return t;
}

SimResult simulated(const Network& network, const TransferGraph& graph, Fidelity fidelity, bool plain,
                    RoutingMode mode = RoutingMode::ecmp) {
  RoutingOptions routing;
  routing.mode = mode;
  Routes routes(network, routing);
  SimOptions options;
  options.fidelity = fidelity;
  if (plain) {
    options.classes[0].transport.header = Bytes(0);
    options.switches.cut_through = true;
  }
  Result<SimResult> result = simulate(routes, graph, options);
  EXPECT_TRUE(result.ok());
  return std::move(result).value();
}

TransferGraph ring_on(const Network& network, std::uint32_t stride, std::int64_t bytes) {
  const auto count = static_cast<std::uint32_t>(network.endpoints().size());
  TransferGraph graph;
  for (std::uint32_t r = 0; r < count; ++r) {
    Transfer t = send(network.endpoints()[r * stride % count], network.endpoints()[(r + 1) * stride % count], bytes);
    t.rounds = 2 * (count - 1);
    t.round_after = static_cast<TransferId>((r + count - 1) % count);
    graph.add(t);
  }
  EXPECT_TRUE(graph.finish(network));
  return graph;
}

TEST(AnalyticEngine, IsExactForOneTransfer) {
  const Network network = fat_tree({});
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[127], 10'000'000));
  ASSERT_TRUE(graph.finish(network));
  const SimResult result = simulated(network, graph, Fidelity::analytic, false);
  EXPECT_EQ(result.end, picoseconds(812'503'040 + 6'000'000 + 5 * 332'800));
  EXPECT_EQ(result.totals.data_hops, 6U * 2442);
}

TEST(AnalyticEngine, IsExactForRingsAndIncast) {
  const Network network = leaf_spine({});
  EXPECT_EQ(simulated(network, ring_on(network, 1, 500'000), Fidelity::analytic, true).end, microseconds(3080));
  TransferGraph incast;
  for (std::uint32_t i = 1; i <= 64; ++i) incast.add(send(network.endpoints()[i], network.endpoints()[0], 1'000'000));
  ASSERT_TRUE(incast.finish(network));
  EXPECT_EQ(simulated(network, incast, Fidelity::analytic, true).end, microseconds(64 * 20 + 4));
}

TEST(AnalyticEngine, FollowsDependencies) {
  const Network network = star(3, gigabits(100), microseconds(1));
  TransferGraph graph;
  const TransferId first = graph.add(send(network.endpoints()[0], network.endpoints()[1], 1'000'000));
  const TransferId second = graph.add(send(network.endpoints()[0], network.endpoints()[2], 1'000'000));
  graph.depend(second, first);
  ASSERT_TRUE(graph.finish(network));
  const SimResult result = simulated(network, graph, Fidelity::analytic, true);
  EXPECT_EQ(result.started[1], microseconds(82));
  EXPECT_EQ(result.finished[1], microseconds(164));
}

TEST(AnalyticEngine, LaterTransfersFindTheLinkFree) {
  const Network network = star(2, gigabits(100), microseconds(0));
  TransferGraph graph;
  for (int i = 0; i < 3; ++i) {
    Transfer t = send(network.endpoints()[0], network.endpoints()[1], 1'000'000);
    t.start = microseconds(i == 2 ? 1000 : i * 40);
    graph.add(t);
  }
  ASSERT_TRUE(graph.finish(network));
  const SimResult result = simulated(network, graph, Fidelity::analytic, true);
  EXPECT_EQ(result.finished[1], microseconds(160));  // waits for 40 us of the first
  EXPECT_EQ(result.finished[2], microseconds(1080));
}

struct Error {
  double sum = 0;
  double worst = 0;
  int count = 0;
  void add(double analytic, double flow) {
    const double off = std::abs(analytic / flow - 1);
    sum += off;
    worst = std::max(worst, off);
    ++count;
  }
};

// The documented error against the flow engine: of the end, and of the mean of all transfers.
TEST(AnalyticEngine, StaysWithinItsStatedError) {
  RandomStream random(5, "analytic");
  Error ends;
  Error means;
  for (int trial = 0; trial < 24; ++trial) {
    LeafSpineShape shape;
    shape.leaves = 4;
    shape.hosts_per_leaf = 8;
    shape.spines = trial % 3 == 0 ? 8 : 4;
    const Network network = leaf_spine(shape);
    TransferGraph graph;
    if (trial % 2 == 0) {
      graph = ring_on(network, 1 + 2 * static_cast<std::uint32_t>(random.below(8)), 100'000);
    } else {
      for (std::uint32_t i = 0; i < 32; ++i) {
        const auto other = static_cast<std::uint32_t>((i + 1 + random.below(31)) % 32);
        graph.add(send(network.endpoints()[i], network.endpoints()[other], random.between(100'000, 5'000'000)));
      }
      ASSERT_TRUE(graph.finish(network));
    }
    const SimResult analytic = simulated(network, graph, Fidelity::analytic, false);
    const SimResult flow = simulated(network, graph, Fidelity::flow, false);
    ends.add(in_microseconds(analytic.end), in_microseconds(flow.end));
    double analytic_mean = 0;
    double flow_mean = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      analytic_mean += in_microseconds(analytic.finished[i] - analytic.started[i]);
      flow_mean += in_microseconds(flow.finished[i] - flow.started[i]);
    }
    means.add(analytic_mean, flow_mean);
  }
  RecordProperty("end_mean_error", std::to_string(ends.sum / ends.count));
  RecordProperty("end_worst_error", std::to_string(ends.worst));
  RecordProperty("mean_mean_error", std::to_string(means.sum / means.count));
  RecordProperty("mean_worst_error", std::to_string(means.worst));
  EXPECT_LT(ends.sum / ends.count, 0.05);
  EXPECT_LT(ends.worst, 0.20);
  EXPECT_LT(means.sum / means.count, 0.08);
  EXPECT_LT(means.worst, 0.25);
}

// Two flows over two spines share the one that is left: twice as long. A host without a cable never sends.
TEST(AnalyticEngine, FailedLinksAreDownFromTheStart) {
  LeafSpineShape shape;
  shape.leaves = 2;
  shape.hosts_per_leaf = 2;
  shape.spines = 2;
  const Network network = leaf_spine(shape);
  TransferGraph graph;
  graph.add(send(network.endpoints()[0], network.endpoints()[2], 100'000'000));
  graph.add(send(network.endpoints()[1], network.endpoints()[3], 100'000'000));
  ASSERT_TRUE(graph.finish(network));
  RoutingOptions routing;
  routing.mode = RoutingMode::spray;
  SimOptions options;
  options.fidelity = Fidelity::analytic;
  const auto run = [&] {
    Routes routes(network, routing);
    Result<SimResult> result = simulate(routes, graph, options);
    EXPECT_TRUE(result.ok());
    for (std::size_t i = 0; i < network.links().size(); ++i) EXPECT_TRUE(routes.is_up(static_cast<LinkId>(i)));
    return std::move(result).value();
  };
  const SimResult before = run();
  LinkEvent event;
  event.link = network.out_links(network.find_node("leaf0")).back();
  event.at = microseconds(5);
  options.link_events.push_back(event);
  const SimResult after = run();
  EXPECT_TRUE(after.complete);
  EXPECT_NEAR(static_cast<double>(after.end.count()) / static_cast<double>(before.end.count()), 2, 0.02);
  options.link_events[0].link = network.out_links(network.endpoints()[0]).front();
  const SimResult cut = run();
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(cut.unfinished, 1U);
  EXPECT_EQ(cut.finished[0], kNever);
  event.kind = LinkEvent::Kind::up;  // it comes back: there is no clock, so nothing happened
  event.link = options.link_events[0].link;
  options.link_events.push_back(event);
  EXPECT_EQ(run().end, before.end);
}

}  // namespace
}  // namespace weft::netsim
