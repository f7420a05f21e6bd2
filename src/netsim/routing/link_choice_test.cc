// Modes and seeds through Routes: which flows share a link.
#include "netsim/routing/link_choice.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

NodeId host(const Network& network, std::size_t i) { return network.endpoints()[i]; }

RoutingOptions with(RoutingMode mode) {
  RoutingOptions options;
  options.mode = mode;
  return options;
}

LinkId find_link(const Network& network, std::string_view from, std::string_view to) {
  const NodeId end = network.find_node(to);
  for (const LinkId link : network.out_links(network.find_node(from))) {
    if (network.link(link).to == end) return link;
  }
  return model::kNone<LinkId>;
}

// For each aggregation switch of pod 0: the number of flows on each of its uplinks.
std::map<NodeId, std::map<LinkId, int>> agg_uplinks(HashFunction function, HashSeeds seeds, bool ingress = false) {
  FatTreeShape shape;
  shape.pods = 4;
  shape.tors_per_pod = 4;
  shape.hosts_per_tor = 8;
  shape.aggs_per_pod = 8;
  shape.cores = 64;
  const Network network = fat_tree(shape);
  RoutingOptions options;
  options.hash = function;
  options.seeds = seeds;
  options.fields.ingress_link = ingress;
  Routes routes(network, options);
  std::map<NodeId, std::map<LinkId, int>> used;
  std::vector<LinkId> path;
  for (std::uint32_t i = 0; i < 8192; ++i) {
    const FlowKey key = flow_key(network, host(network, i % 32), host(network, 32 + i % 96), i, 3);
    EXPECT_TRUE(routes.path(key, path));
    EXPECT_EQ(path.size(), 6U);
    ++used[network.link(path[2]).from][path[2]];
  }
  return used;
}

// Both tiers of eight links use the same hash: flows that reach an aggregation switch have the same remainder and leave
// it on one link.
TEST(LinkChoice, OneSeedForAllTiersPolarizes) {
  for (const HashFunction function :
       {HashFunction::crc32, HashFunction::crc16, HashFunction::xor16, HashFunction::toeplitz, HashFunction::mix64}) {
    const auto used = agg_uplinks(function, HashSeeds::shared);
    EXPECT_EQ(used.size(), 8U) << to_text(function);
    for (const auto& [agg, links] : used) EXPECT_EQ(links.size(), 1U) << to_text(function);
  }
}

TEST(LinkChoice, SeedsPerTierOrPerSwitchDoNotPolarize) {
  for (const HashFunction function :
       {HashFunction::crc32, HashFunction::crc16, HashFunction::xor16, HashFunction::toeplitz, HashFunction::mix64}) {
    for (const HashSeeds seeds : {HashSeeds::per_tier, HashSeeds::per_switch}) {
      const auto used = agg_uplinks(function, seeds);
      EXPECT_EQ(used.size(), 8U);
      for (const auto& [agg, links] : used) {
        ASSERT_EQ(links.size(), 8U) << to_text(function) << " " << to_text(seeds);
        // 8192 flows over 64 links: 128 each, standard deviation 11; 50 is more than four of them.
        for (const auto& [link, flows] : links) EXPECT_NEAR(flows, 128, 50) << to_text(function);
      }
    }
  }
}

// The ingress link in the hash helps a little if the seed is shared: at most one link per ToR below.
TEST(LinkChoice, IngressLinkDepolarizesPartly) {
  const auto used = agg_uplinks(HashFunction::crc32, HashSeeds::shared, true);
  EXPECT_EQ(used.size(), 8U);
  for (const auto& [agg, links] : used) EXPECT_GT(links.size(), 1U);
}

TEST(LinkChoice, PinnedGivesEveryFlowOfAPermutationItsOwnUplinks) {
  FatTreeShape shape;  // no oversubscription: 4 hosts and 4 uplinks, 4 ToRs and 4 uplinks
  const Network network = fat_tree(shape);
  Routes routes(network, with(RoutingMode::pinned));
  std::map<LinkId, int> load;
  std::vector<LinkId> path;
  for (std::uint32_t h = 0; h < 128; ++h) {
    ASSERT_TRUE(routes.path(flow_key(network, host(network, h), host(network, (h + 64) % 128), 0, 1), path));
    for (std::size_t i = 0; i < 3; ++i) ++load[path[i]];
  }
  EXPECT_EQ(load.size(), 3U * 128U);
  const auto first_up = [&](std::uint32_t queue_pair) {
    EXPECT_TRUE(routes.path(flow_key(network, host(network, 1), host(network, 100), queue_pair, 1), path));
    return network.name_of(network.link(path[1]).to);
  };
  EXPECT_EQ(first_up(0), "agg1");
  EXPECT_EQ(first_up(1), "agg2");
  EXPECT_EQ(first_up(3), "agg0");
}

// Share of flows from leaf 0 to leaf 1 that use spine 0.
double share_of_spine0(Routes& routes, std::uint32_t to_leaf) {
  const Network& network = routes.network();
  const NodeId spine = network.find_node("spine0");
  std::vector<LinkId> path;
  int over = 0;
  for (std::uint32_t q = 0; q < 4000; ++q) {
    EXPECT_TRUE(routes.path(flow_key(network, host(network, q % 8), host(network, to_leaf * 8 + q % 7), q, 1), path));
    over += network.link(path[1]).to == spine ? 1 : 0;
  }
  return over / 4000.0;
}

// One of spine 0's two links to leaf 1 has failed: it carries half of what spine 1 can carry there, a third of the
// total.
TEST(LinkChoice, WeightsFollowDownstreamCapacity) {
  LeafSpineShape shape;
  shape.leaves = 3;
  shape.hosts_per_leaf = 8;
  shape.spines = 2;
  shape.links_per_spine = 2;
  const Network network = leaf_spine(shape);
  Routes weighted(network, with(RoutingMode::weighted));
  Routes plain(network, with(RoutingMode::ecmp));
  EXPECT_NEAR(share_of_spine0(weighted, 1), 0.5, 0.03);
  weighted.set_link(find_link(network, "spine0", "leaf1"), false);
  plain.set_link(find_link(network, "spine0", "leaf1"), false);
  EXPECT_NEAR(share_of_spine0(weighted, 1), 1.0 / 3, 0.03);
  EXPECT_NEAR(share_of_spine0(weighted, 2), 0.5, 0.03);
  EXPECT_NEAR(share_of_spine0(plain, 1), 0.5, 0.03);
}

TEST(LinkChoice, WeightsFollowTheRatesOfLinks) {
  NetworkBuilder builder;
  const NodeId a = builder.add_node({}, "a");
  const NodeId b = builder.add_node({}, "b");
  const auto add_switch = [&](std::uint8_t tier, const char* name) {
    Node node;
    node.kind = NodeKind::network_switch;
    node.tier = tier;
    return builder.add_node(node, name);
  };
  const NodeId left = add_switch(1, "left");
  const NodeId right = add_switch(1, "right");
  builder.connect(a, left, gigabits(400), SimTime());
  builder.connect(b, right, gigabits(400), SimTime());
  for (const int rate : {400, 100}) {
    const NodeId spine = add_switch(2, rate == 400 ? "fast" : "slow");
    builder.connect(left, spine, gigabits(rate), SimTime());
    builder.connect(right, spine, gigabits(rate), SimTime());
  }
  const Network network = std::move(builder).finish();
  Routes routes(network, with(RoutingMode::weighted));
  std::vector<LinkId> path;
  int fast = 0;
  for (std::uint32_t q = 0; q < 4000; ++q) {
    ASSERT_TRUE(routes.path(flow_key(network, a, b, q, 1), path));
    fast += network.name_of(network.link(path[1]).to) == "fast" ? 1 : 0;
  }
  EXPECT_NEAR(fast / 4000.0, 0.8, 0.03);
}

class Resilience : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kFlows = 2000;

  // The uplink of each flow from leaf 0 to leaf 1.
  [[nodiscard]] std::vector<LinkId> uplinks(Routes& routes) const {
    std::vector<LinkId> out;
    std::vector<LinkId> path;
    for (std::uint32_t q = 0; q < kFlows; ++q) {
      EXPECT_TRUE(routes.path(flow_key(network_, host(network_, q % 16), host(network_, 16 + q % 16), q, 1), path));
      out.push_back(path[1]);
    }
    return out;
  }
  static std::size_t moved(const std::vector<LinkId>& before, const std::vector<LinkId>& after) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < before.size(); ++i) count += before[i] == after[i] ? 0U : 1U;
    return count;
  }

  Network network_ = leaf_spine({});
};

TEST_F(Resilience, AFailureMovesOnlyTheFlowsOfTheFailedLink) {
  Routes routes(network_, with(RoutingMode::resilient));
  const std::vector<LinkId> before = uplinks(routes);
  const LinkId first = find_link(network_, "leaf0", "spine5");
  const LinkId second = find_link(network_, "leaf0", "spine9");
  routes.set_link(first, false);
  const std::vector<LinkId> after_one = uplinks(routes);
  const auto on = [](const std::vector<LinkId>& flows, LinkId link) {
    return static_cast<std::size_t>(std::count(flows.begin(), flows.end(), link));
  };
  EXPECT_GT(on(before, first), 0U);
  EXPECT_EQ(on(after_one, first), 0U);
  EXPECT_EQ(moved(before, after_one), on(before, first));
  std::set<LinkId> heirs;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == first) heirs.insert(after_one[i]);
  }
  EXPECT_GT(heirs.size(), 4U) << "its flows are spread over the others";

  routes.set_link(second, false);
  const std::vector<LinkId> after_two = uplinks(routes);
  EXPECT_EQ(moved(after_one, after_two), on(after_one, second));
  routes.set_link(second, true);
  EXPECT_EQ(uplinks(routes), after_one);
  routes.set_link(first, true);
  EXPECT_EQ(uplinks(routes), before);
}

// A remote failure also leaves this leaf a smaller set: spine 5 no longer reaches leaf 1.
TEST_F(Resilience, ARemoteFailureMovesOnlyAffectedFlows) {
  Routes routes(network_, with(RoutingMode::resilient));
  const std::vector<LinkId> before = uplinks(routes);
  routes.set_link(find_link(network_, "leaf1", "spine5"), false);
  const std::vector<LinkId> after = uplinks(routes);
  const LinkId lost = find_link(network_, "leaf0", "spine5");
  EXPECT_EQ(moved(before, after), static_cast<std::size_t>(std::count(before.begin(), before.end(), lost)));
}

// Plain hash mod n renumbers all members: from 16 to 15 links about 15 of 16 flows move.
TEST_F(Resilience, PlainEcmpMovesNearlyAll) {
  Routes routes(network_, with(RoutingMode::ecmp));
  const std::vector<LinkId> before = uplinks(routes);
  routes.set_link(find_link(network_, "leaf0", "spine5"), false);
  EXPECT_GT(moved(before, uplinks(routes)), kFlows * 8 / 10);
}

TEST_F(Resilience, ZeroBucketsCountAsOne) {
  RoutingOptions options = with(RoutingMode::resilient);
  options.resilient_buckets = 0;
  Routes routes(network_, options);
  const std::vector<LinkId> flows = uplinks(routes);
  EXPECT_EQ(std::set<LinkId>(flows.begin(), flows.end()).size(), 1U);
}

TEST(LinkChoice, SprayAdaptiveAndFlowletStartAtTheHash) {
  const Network network = leaf_spine({});
  Routes ecmp(network, with(RoutingMode::ecmp));
  for (const RoutingMode mode : {RoutingMode::spray, RoutingMode::adaptive, RoutingMode::flowlet}) {
    Routes routes(network, with(mode));
    for (std::uint32_t q = 0; q < 50; ++q) {
      const FlowKey key = flow_key(network, host(network, 0), host(network, 40), q, 1);
      EXPECT_EQ(routes.choose(network.find_node("leaf0"), model::kNone<LinkId>, key),
                ecmp.choose(network.find_node("leaf0"), model::kNone<LinkId>, key));
    }
  }
}

}  // namespace
}  // namespace weft::netsim
