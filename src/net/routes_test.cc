#include <gtest/gtest.h>

#include "net/routing.h"
#include "net/topologies.h"

namespace weft::net {
namespace {

NodeId host(const Network& network, std::size_t i) { return network.endpoints()[i]; }

std::vector<std::string> way(Routes& routes, std::size_t from, std::size_t to) {
  const Network& network = routes.network();
  const FlowKey key = flow_key(network, host(network, from), host(network, to), 0, 1);
  std::vector<LinkId> links;
  std::vector<std::string> names;
  if (!routes.path(key, links)) return names;
  for (const LinkId link : links) names.push_back(network.name_of(network.link(link).to));
  return names;
}

// k = 8: host 5 is on tor1 (pod 0), host 127 on tor31 (pod 7). Destination 127: uplink 127 mod 4 = 3 of the ToR is
// agg3, uplink 127 / 4 mod 4 = 3 of agg3 is core 15; down it is agg31.
TEST(Routes, DModKGoesAsSimGridDoes) {
  const Network network = fat_tree({});
  RoutingOptions options;
  options.mode = RoutingMode::d_mod_k;
  Routes routes(network, options);
  EXPECT_EQ(way(routes, 5, 127), (std::vector<std::string>{"tor1", "agg3", "core15", "agg31", "tor31", "host127"}));
  // 18 = 4 * 4 + 2: agg2, then 4 mod 4 = 0: core 8.
  EXPECT_EQ(way(routes, 127, 18), (std::vector<std::string>{"tor31", "agg30", "core8", "agg6", "tor4", "host18"}));
  EXPECT_EQ(way(routes, 0, 9), (std::vector<std::string>{"tor0", "agg1", "tor2", "host9"}));
  EXPECT_EQ(way(routes, 0, 3), (std::vector<std::string>{"tor0", "host3"}));
}

TEST(Routes, EqualCostSetsAreAllLinksUpAndTheOneDown) {
  const Network network = fat_tree({});
  Routes routes(network, {});
  const NodeId far = host(network, 127);
  const auto at = [&](const char* name) { return network.find_node(name); };
  EXPECT_EQ(routes.next_links(at("tor0"), far).size(), 4U);
  EXPECT_EQ(routes.next_links(at("agg0"), far).size(), 4U);
  ASSERT_EQ(routes.next_links(at("core5"), far).size(), 1U);
  EXPECT_EQ(network.link_name(routes.next_links(at("core5"), far).front()), "core5 > agg29");
  ASSERT_EQ(routes.next_links(at("agg28"), far).size(), 1U);
  EXPECT_EQ(network.link_name(routes.next_links(at("agg28"), far).front()), "agg28 > tor31");
  ASSERT_EQ(routes.next_links(at("tor31"), far).size(), 1U);
  EXPECT_EQ(routes.next_links(far, far).size(), 0U);
}

}  // namespace
}  // namespace weft::net
