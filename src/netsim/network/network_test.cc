#include "netsim/network/network.h"

#include <gtest/gtest.h>

namespace weft::netsim {
namespace {

Node switch_node() {
  Node node;
  node.kind = NodeKind::network_switch;
  node.tier = 1;
  return node;
}

TEST(Network, LinksComeInPairsAndLeaveTheirNodesInOrder) {
  NetworkBuilder builder;
  const NodeId hub = builder.add_node(switch_node(), "hub");
  const NodeId a = builder.add_node({}, "a");
  const NodeId b = builder.add_node({}, "b");
  const LinkId second = builder.connect(b, hub, gigabits(200), nanoseconds(5));
  const LinkId first = builder.connect(hub, a, gigabits(100), nanoseconds(3), nanoseconds(4));
  const LinkId third = builder.connect(hub, a, gigabits(100), nanoseconds(3));
  EXPECT_EQ(builder.node_count(), 3U);
  const Network network = std::move(builder).finish();
  ASSERT_EQ(network.links().size(), 6U);
  for (const LinkId id : {first, second, third}) {
    const Link& link = network.link(id);
    const Link& back = network.link(link.reverse);
    EXPECT_EQ(model::index_of(link.reverse), model::index_of(id) + 1);
    EXPECT_EQ(back.reverse, id);
    EXPECT_EQ(back.from, link.to);
    EXPECT_EQ(back.to, link.from);
    EXPECT_EQ(back.rate, link.rate);
  }
  EXPECT_EQ(network.link(first).delay, nanoseconds(3));
  EXPECT_EQ(network.link(network.link(first).reverse).delay, nanoseconds(4));
  EXPECT_EQ(network.link(network.link(third).reverse).delay, nanoseconds(3));
  EXPECT_EQ(std::vector(network.out_links(hub).begin(), network.out_links(hub).end()),
            (std::vector{network.link(second).reverse, first, third}));
  EXPECT_EQ(network.out_links(b).size(), 1U);
  EXPECT_EQ(std::vector(network.endpoints().begin(), network.endpoints().end()), (std::vector{a, b}));
}

TEST(Network, NamesDistinguishParallelLinks) {
  NetworkBuilder builder;
  const NodeId a = builder.add_node({}, "a");
  const NodeId hub = builder.add_node(switch_node(), "hub");
  const NodeId other = builder.add_node(switch_node(), "other");
  const LinkId one = builder.connect(a, hub, gigabits(1), SimTime());
  builder.connect(a, other, gigabits(1), SimTime());
  const LinkId two = builder.connect(a, hub, gigabits(1), SimTime());
  const LinkId only = builder.connect(hub, other, gigabits(1), SimTime());
  const Network network = std::move(builder).finish();
  EXPECT_EQ(network.link_name(one), "a > hub #1");
  EXPECT_EQ(network.link_name(two), "a > hub #2");
  EXPECT_EQ(network.link_name(network.link(two).reverse), "hub > a #2");
  EXPECT_EQ(network.link_name(only), "hub > other");
  EXPECT_EQ(network.find_node("other"), other);
  EXPECT_EQ(network.find_node("othe"), model::kNone<NodeId>);
}

TEST(Network, EqualBuffersAreMergedAndThereIsAlwaysOne) {
  NetworkBuilder builder;
  const std::uint16_t small = builder.add_buffer({Bytes(1000), Bytes(80)});
  const std::uint16_t large = builder.add_buffer({Bytes(2000), Bytes(80)});
  const std::uint16_t cells = builder.add_buffer({Bytes(1000), Bytes(81)});
  EXPECT_EQ(builder.add_buffer({Bytes(2000), Bytes(80)}), large);
  EXPECT_NE(small, large);
  EXPECT_NE(small, cells);
  Node node = switch_node();
  node.buffer = cells;
  const NodeId id = builder.add_node(node, "s");
  const Network network = std::move(builder).finish();
  EXPECT_EQ(network.buffers().size(), 3U);
  EXPECT_EQ(network.buffer_of(id).cell, Bytes(81));

  const Network empty = NetworkBuilder().finish();
  EXPECT_EQ(empty.buffers().size(), 1U);
  EXPECT_TRUE(empty.nodes().empty());
}

TEST(Network, PortsBelongToTheEndsOfACable) {
  NetworkBuilder builder;
  const NodeId a = builder.add_node({}, "a");
  const NodeId b = builder.add_node({}, "b");
  const LinkId link = builder.connect(a, b, gigabits(1), SimTime());
  builder.ports(link, model::PortId{7}, model::PortId{9});
  const Network network = std::move(builder).finish();
  EXPECT_EQ(network.link(link).port, model::PortId{7});
  EXPECT_EQ(network.link(network.link(link).reverse).port, model::PortId{9});
}

}  // namespace
}  // namespace weft::netsim
