#include "netsim/flow/paths.h"

#include <gtest/gtest.h>

#include <map>

#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

TransferGraph graph_of(const Network& network, const std::vector<std::pair<int, int>>& pairs,
                       std::uint8_t queue_pairs) {
  TransferGraph graph;
  for (const auto& [from, to] : pairs) {
    Transfer t;
    t.source = network.endpoints()[static_cast<std::size_t>(from)];
    t.destination = network.endpoints()[static_cast<std::size_t>(to)];
    t.bytes = Bytes(1000);
    t.queue_pairs = queue_pairs;
    graph.add(t);
  }
  EXPECT_TRUE(graph.finish(network));
  return graph;
}

Routes routes_on(const Network& network, RoutingMode mode) {
  RoutingOptions options;
  options.mode = mode;
  return {network, options};
}

TEST(FlowPaths, StoresEachPathOnce) {
  const Network network = fat_tree({});
  Routes routes = routes_on(network, RoutingMode::ecmp);
  const FlowPaths paths(routes, graph_of(network, {{0, 127}, {1, 2}, {0, 127}, {127, 0}}, 2));
  EXPECT_EQ(paths.size(), 6U);
  EXPECT_EQ(paths.first_path(0, 1), paths.first_path(2, 1));
  EXPECT_NE(paths.first_path(0, 0), paths.first_path(0, 1));
  EXPECT_EQ(paths.way(paths.first_path(0, 0)).size(), 6U);
  EXPECT_EQ(paths.way(paths.first_path(1, 0)).size(), 2U);
}

// Spread over a fat tree with four paths at each of two tiers: whole at the hosts, quarters, sixteenths, quarters.
TEST(FlowPaths, SpreadsEvenlyAtEachHop) {
  const Network network = fat_tree({});
  Routes routes = routes_on(network, RoutingMode::spray);
  const FlowPaths paths(routes, graph_of(network, {{0, 127}}, 1));
  std::map<double, int> links;
  paths.for_each_link(paths.first_path(0, 0), [&](LinkId, double share) { ++links[share]; });
  EXPECT_EQ(links, (std::map<double, int>{{1.0, 2}, {0.25, 8}, {0.0625, 32}}));
  EXPECT_EQ(paths.way(paths.first_path(0, 0)).size(), 6U);
}

TEST(FlowPaths, ReroutesAfterFailureAndRecovers) {
  const Network network = fat_tree({});
  for (const RoutingMode mode : {RoutingMode::ecmp, RoutingMode::spray}) {
    Routes routes = routes_on(network, mode);
    FlowPaths paths(routes, graph_of(network, {{0, 127}}, 1));
    const std::uint32_t first = paths.first_path(0, 0);
    EXPECT_EQ(paths.current(first), first);
    const LinkId lost = paths.way(first)[1];
    routes.set_link(lost, false);
    const std::uint32_t other = paths.current(first);
    ASSERT_NE(other, FlowPaths::kNoWay);
    EXPECT_NE(other, first);
    EXPECT_EQ(paths.parting(first, other), network.link(lost).from);
    paths.for_each_link(other, [&](LinkId link, double) { EXPECT_NE(link, lost); });
    routes.set_link(lost, true);
    EXPECT_EQ(paths.current(first), first);
    routes.set_link(network.out_links(network.endpoints()[0])[0], false);
    EXPECT_EQ(paths.current(first), FlowPaths::kNoWay);
  }
}

}  // namespace
}  // namespace weft::netsim
