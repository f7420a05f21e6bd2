#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "netsim/network/topologies.h"
#include "netsim/readers/reader_fixture.h"

namespace weft::netsim {
namespace {

using fixtures::hpcc_flows_from;
using fixtures::hpcc_topology_from;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Network hosts(std::uint32_t count) { return star(count, gigabits(100), microseconds(1), {}); }

TEST(ReadHpccFlows, SecondsAndBytes) {
  const Network network = hosts(8);
  auto read = hpcc_flows_from("2\n2 1 3 100 200000000 2\n3 1 3 100 5 2.000001250\n", network);
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  ASSERT_TRUE(read.value->finish(network).ok());
  ASSERT_EQ(read.value->size(), 2U);
  EXPECT_EQ(read.value->transfers()[0].source, network.endpoints()[2]);
  EXPECT_EQ(read.value->transfers()[0].destination, network.endpoints()[1]);
  EXPECT_EQ(read.value->transfers()[0].bytes, Bytes(200'000'000));
  EXPECT_EQ(read.value->transfers()[0].start, microseconds(2'000'000));
  EXPECT_EQ(read.value->transfers()[1].start, picoseconds(2'000'001'250'000));
  EXPECT_THAT(read.warnings, IsEmpty());
}

// As in HPCC's own flow.txt, whose count is 2, followed by more flows and an explanation.
TEST(ReadHpccFlows, RowsBeyondTheCountAreIgnored) {
  const auto read = hpcc_flows_from("1\n2 1 3 100 5 2\n\nFirst line: # of flows\n", hosts(4));
  ASSERT_TRUE(read.value);
  EXPECT_EQ(read.value->size(), 1U);
  EXPECT_THAT(read.warnings, ElementsAre("4:1 ignored: the file announces only 1 flows"));
}

TEST(ReadHpccFlows, EveryErrorHasALocation) {
  const auto errors = [](const char* text) { return hpcc_flows_from(text, hosts(4)).errors; };
  EXPECT_THAT(errors("2\n0 1 3 100 5 0\n"), ElementsAre("1:1 the file announces 2 flows but has 1"));
  EXPECT_THAT(errors("1\n0 4 3 100 5 0\n"), ElementsAre("2:3 the destination host is `4`; expected 0 to 3"));
  EXPECT_THAT(errors("1\n1 1 3 100 5 0\n"), ElementsAre("2:3 host `1` sends to itself"));
  EXPECT_THAT(errors("1\n0 1 8 100 5 0\n"), ElementsAre("2:5 the priority group is `8`; expected 0 to 7"));
  EXPECT_THAT(errors("1\n0 1 3 70000 5 0\n"), ElementsAre(HasSubstr("2:7 the destination port is")));
  EXPECT_THAT(errors("1\n0 1 3 100 -5 0\n"), ElementsAre(HasSubstr("2:11 the size in bytes is `-5`")));
  EXPECT_THAT(errors("1\n0 1 3 100 5 -1\n"), ElementsAre(HasSubstr("2:13 expected the start in seconds")));
  EXPECT_THAT(errors("1\n0 1 3 100 5\n"), ElementsAre(HasSubstr("2:12 expected the start in seconds")));
  EXPECT_THAT(errors("1\n0 1 3 100 5 1e30\n"), ElementsAre(HasSubstr("2:13 the start in seconds is `1e30`")));
  EXPECT_THAT(errors("1 2\n"), ElementsAre("1:3 expected the line to end here, not `2`"));
  EXPECT_THAT(errors("99999999999\n"), ElementsAre(HasSubstr("1:1 the number of flows is")));
  EXPECT_THAT(errors(""), ElementsAre("1:1 the file has no flows"));
}

const char* const kStar = "4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 25Gbps 500ns 0\n3 0 1.6Tbps 1.5us 0.000000\n";

TEST(ReadHpccTopology, NodesKeepTheirIds) {
  const auto read = hpcc_topology_from(kStar);
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  const Network& network = *read.value;
  ASSERT_EQ(network.nodes().size(), 4U);
  EXPECT_EQ(network.node(NodeId{0}).kind, NodeKind::network_switch);
  EXPECT_EQ(network.node(NodeId{0}).tier, 1);
  EXPECT_THAT(network.endpoints(), ElementsAre(NodeId{1}, NodeId{2}, NodeId{3}));
  EXPECT_EQ(network.name_of(NodeId{2}), "node2");
  ASSERT_EQ(network.links().size(), 6U);
  EXPECT_EQ(network.links()[0].rate, gigabits(100));
  EXPECT_EQ(network.links()[0].delay, microseconds(1));
  EXPECT_EQ(network.links()[2].delay, nanoseconds(500));
  EXPECT_EQ(network.links()[4].rate, gigabits(1600));
  EXPECT_EQ(network.links()[4].delay, nanoseconds(1500));
  EXPECT_THAT(read.warnings, IsEmpty());
}

TEST(ReadHpccTopology, FlowFilesReferToItsNodes) {
  const auto topology = hpcc_topology_from(kStar);
  ASSERT_TRUE(topology.value);
  const auto flows = hpcc_flows_from("1\n3 1 3 100 5 0\n", *topology.value);
  ASSERT_TRUE(flows.value);
  EXPECT_EQ(flows.value->transfers()[0].source, NodeId{3});
  EXPECT_EQ(flows.value->transfers()[0].destination, NodeId{1});
  EXPECT_THAT(hpcc_flows_from("1\n3 0 3 100 5 0\n", *topology.value).errors,
              ElementsAre("2:3 the destination host is node 0, which is a switch"));
}

// Two servers of two GPUs each, with an NVSwitch in each, two leaves (rails) and a spine.
TEST(ReadHpccTopology, SimAiHasServersAndNvSwitches) {
  const auto read = hpcc_topology_from(
      "9 2 2 3 10 H100\n4 5 6\n7 8 \n"
      "0 4 2400Gbps 0.000025ms 0\n1 4 2400Gbps 0.000025ms 0\n2 5 2400Gbps 0.000025ms 0\n3 5 2400Gbps 0.000025ms 0\n"
      "0 6 100Gbps 0.0005ms 0\n1 7 100Gbps 0.0005ms 0\n2 6 100Gbps 0.0005ms 0\n3 7 100Gbps 0.0005ms 0\n"
      "6 8 400Gbps 0.0005ms 0\n7 8 400Gbps 0.0005ms 0\n");
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  const Network& network = *read.value;
  EXPECT_EQ(network.endpoints().size(), 4U);
  EXPECT_EQ(network.node(NodeId{0}).group, 0U);
  EXPECT_EQ(network.node(NodeId{1}).group, 0U);
  EXPECT_EQ(network.node(NodeId{2}).group, 1U);
  EXPECT_TRUE(network.node(NodeId{4}).scale_up);
  EXPECT_TRUE(network.node(NodeId{5}).scale_up);
  EXPECT_FALSE(network.node(NodeId{6}).scale_up);
  EXPECT_EQ(network.node(NodeId{6}).tier, 1);
  EXPECT_EQ(network.node(NodeId{8}).tier, 2);
  EXPECT_EQ(network.links()[0].delay, nanoseconds(25));
  EXPECT_EQ(network.links()[0].rate, gigabits(2400));
}

TEST(ReadHpccTopology, EveryErrorHasALocation) {
  const auto errors = [](const char* text) { return hpcc_topology_from(text).errors; };
  EXPECT_THAT(errors("3 1\n"), ElementsAre(HasSubstr("1:1 expected `nodes switches links`")));
  EXPECT_THAT(errors("3 1 1 1 1 1 1\n"), ElementsAre(HasSubstr("1:1 expected `nodes switches links`")));
  EXPECT_THAT(errors("1 2 0\n"), ElementsAre("1:1 1 nodes are fewer than the switches among them"));
  EXPECT_THAT(errors("5 1 2\n"), ElementsAre("1:1 2 links cannot connect 5 nodes"));
  EXPECT_THAT(errors("3 1 2\n3\n"), ElementsAre("2:1 the id of a switch is `3`; expected 0 to 2"));
  EXPECT_THAT(errors("3 2 2\n2 2\n"), ElementsAre("2:3 node 2 is already listed as a switch"));
  EXPECT_THAT(errors("3 2 2\n2\n"), ElementsAre("2:2 expected the id of another switch, but the line ends here"));
  EXPECT_THAT(errors("3 1 2\n2 0 1Gbps 1us 0\n"), ElementsAre("2:3 expected the line to end here, not `0`"));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 1Gbps 1us 0\n"), ElementsAre("1:5 the file announces 2 links but has 1"));
  EXPECT_THAT(errors("3 1 2\n2\n0 3 1Gbps 1us 0\n"), ElementsAre("3:3 a node's id is `3`; expected 0 to 2"));
  EXPECT_THAT(errors("3 1 2\n2\n0 0 1Gbps 1us 0\n"), ElementsAre("3:3 a link from node 0 to itself"));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 1Gbitps 1us 0\n"), ElementsAre(HasSubstr("3:5 expected a rate such as")));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 0Gbps 1us 0\n"), ElementsAre(HasSubstr("3:5 expected a rate such as")));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 -5Gbps 1us 0\n"), ElementsAre(HasSubstr("3:5 expected a rate such as")));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 99999999Gbps 1us 0\n"), ElementsAre(HasSubstr("3:5 expected a rate such as")));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 1Gbps 1 0\n"), ElementsAre(HasSubstr("3:11 expected a delay such as")));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 1Gbps 5s 0\n"), ElementsAre(HasSubstr("3:11 expected a delay such as")));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 1Gbps 1us 2\n"), ElementsAre(HasSubstr("3:15 the error rate is `2`")));
  EXPECT_THAT(errors("3 1 2\n2\n0 2 1Gbps 1us 0 0\n"), ElementsAre(HasSubstr("3:17 expected the line to end")));
  EXPECT_THAT(errors("99999999 1 1\n"), ElementsAre(HasSubstr("1:1 the number of nodes is")));
  EXPECT_THAT(errors("9 1 99999999\n"), ElementsAre(HasSubstr("1:5 the number of links is")));
  EXPECT_THAT(errors(""), ElementsAre("1:1 the file is empty"));
}

TEST(ReadHpccTopology, ErrorRatesAndTheRestAreIgnored) {
  const auto read = hpcc_topology_from("2 0 1\n0 1 10Gbps 1us 0.001\n\nFirst line: total node #\n");
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  EXPECT_EQ(read.value->endpoints().size(), 2U);
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("2:16 error rates in topology files"), HasSubstr("4:1 ignored")));
}

TEST(ReadHpccTopology, UnreachableSwitchIsKept) {
  const auto read = hpcc_topology_from("4 2 2\n2 3\n0 1 10Gbps 1us 0\n0 1 10Gbps 1us 0\n");
  ASSERT_TRUE(read.value);
  EXPECT_EQ(read.value->node(NodeId{3}).tier, 1);
  EXPECT_TRUE(read.value->out_links(NodeId{3}).empty());
}

}  // namespace
}  // namespace weft::netsim
