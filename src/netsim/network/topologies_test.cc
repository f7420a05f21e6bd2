#include "netsim/network/topologies.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace weft::netsim {
namespace {

std::map<int, std::size_t> nodes_by_tier(const Network& network) {
  std::map<int, std::size_t> count;
  for (const Node& node : network.nodes()) ++count[node.tier];
  return count;
}

std::set<std::string> neighbors(const Network& network, std::string_view name) {
  std::set<std::string> out;
  for (const LinkId link : network.out_links(network.find_node(name))) {
    out.insert(network.name_of(network.link(link).to));
  }
  return out;
}

// k = 8: 128 hosts, 32 + 32 + 16 switches, and 128 cables at each of the three levels.
TEST(Topologies, FatTreeOfEightPorts) {
  const Network network = fat_tree({});
  EXPECT_EQ(nodes_by_tier(network), (std::map<int, std::size_t>{{0, 128}, {1, 32}, {2, 32}, {3, 16}}));
  EXPECT_EQ(network.links().size(), 2U * 3U * 128U);
  for (const Node& node : network.nodes()) EXPECT_EQ(node.kind == NodeKind::endpoint, node.tier == 0);
  EXPECT_EQ(neighbors(network, "host5"), (std::set<std::string>{"tor1"}));
  EXPECT_EQ(neighbors(network, "tor5"),
            (std::set<std::string>{"host20", "host21", "host22", "host23", "agg4", "agg5", "agg6", "agg7"}));
  EXPECT_EQ(neighbors(network, "agg6"),
            (std::set<std::string>{"tor4", "tor5", "tor6", "tor7", "core8", "core9", "core10", "core11"}));
  EXPECT_EQ(neighbors(network, "core9").size(), 8U);
  EXPECT_EQ(network.node(network.find_node("agg6")).group, 1U);
}

TEST(Topologies, FatTreeOf16384HostsHasAsManyLinksAsInSimGrid) {
  FatTreeShape shape;
  shape.pods = 64;
  shape.tors_per_pod = shape.hosts_per_tor = shape.aggs_per_pod = 16;
  shape.cores = 256;
  const Network network = fat_tree(shape);
  EXPECT_EQ(network.endpoints().size(), 16384U);
  EXPECT_EQ(network.links().size(), 98304U);  // SimGrid counts one more: the loopback
}

TEST(Topologies, LeafSpineWithParallelLinks) {
  LeafSpineShape shape;
  shape.leaves = 4;
  shape.hosts_per_leaf = 3;
  shape.spines = 2;
  shape.links_per_spine = 2;
  shape.uplink_rate = gigabits(800);
  const Network network = leaf_spine(shape);
  EXPECT_EQ(nodes_by_tier(network), (std::map<int, std::size_t>{{0, 12}, {1, 4}, {2, 2}}));
  EXPECT_EQ(network.links().size(), 2U * (12U + 4U * 2U * 2U));
  EXPECT_EQ(network.out_links(network.find_node("spine1")).size(), 8U);
  EXPECT_EQ(neighbors(network, "host11"), (std::set<std::string>{"leaf3"}));
  for (const Link& link : network.links()) {
    const bool host = network.node(link.from).tier == 0 || network.node(link.to).tier == 0;
    EXPECT_EQ(link.rate, host ? gigabits(400) : gigabits(800));
  }
}

TEST(Topologies, StarAndRing) {
  const Network one = star(5, gigabits(10), nanoseconds(7), {Bytes(1000), Bytes(100)});
  EXPECT_EQ(one.endpoints().size(), 5U);
  EXPECT_EQ(one.links().size(), 10U);
  EXPECT_EQ(one.buffer_of(one.find_node("switch0")).total, Bytes(1000));
  EXPECT_EQ(one.links()[3].delay, nanoseconds(7));

  const Network ring = ring_of_switches(4, 2, gigabits(10), nanoseconds(7));
  EXPECT_EQ(ring.links().size(), 2U * (8U + 4U));
  EXPECT_EQ(neighbors(ring, "switch0"), (std::set<std::string>{"host0", "host1", "switch1", "switch3"}));
}

}  // namespace
}  // namespace weft::netsim
