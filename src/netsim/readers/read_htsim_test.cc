#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "netsim/network/topologies.h"
#include "netsim/readers/reader_fixture.h"

namespace weft::netsim {
namespace {

using fixtures::htsim_topology_from;
using fixtures::matrix_from;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Network hosts(std::uint32_t count) { return star(count, gigabits(100), microseconds(1), {}); }

TEST(ReadHtsimMatrix, FlowsWithStartsInPicoseconds) {
  const Network network = hosts(16);
  auto read = matrix_from(
      "Nodes 16\nConnections 3\n0->15 start 0 size 2000000\n1->15 id 4 start 1500 size 10 prio 3\n"
      "2->15 start 1e6 size 7\n",
      network);
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  ASSERT_TRUE(read.value->finish(network).ok());
  ASSERT_EQ(read.value->size(), 3U);
  EXPECT_EQ(read.value->transfers()[0].bytes, Bytes(2'000'000));
  EXPECT_EQ(read.value->transfers()[1].source, network.endpoints()[1]);
  EXPECT_EQ(read.value->transfers()[1].destination, network.endpoints()[15]);
  EXPECT_EQ(read.value->transfers()[1].start, picoseconds(1500));
  EXPECT_EQ(read.value->transfers()[2].start, microseconds(1));
}

TEST(ReadHtsimMatrix, TriggersAreDependencies) {
  const Network network = hosts(8);
  auto read = matrix_from(
      "Nodes 8\nConnections 5\nTriggers 3\n"
      "0->1 id 1 start 0 size 10 send_done_trigger 1\n"
      "1->2 id 2 trigger 1 size 10 recv_done_trigger 9\n"
      "2->3 id 3 trigger 1 size 10 send_done_trigger 9\n"
      "3->4 id 4 trigger 9 size 10\n"
      "4->5 id 5 trigger 9 size 10\n"
      "trigger id 1 oneshot\n"
      "trigger id 9 barrier count 2\n"
      "trigger id 4 multishot\n",
      network);
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  const TransferGraph& graph = *read.value;
  ASSERT_TRUE(read.value->finish(network).ok());
  EXPECT_THAT(graph.dependents(TransferId{0}), ElementsAre(TransferId{1}, TransferId{2}));
  EXPECT_THAT(graph.dependents(TransferId{1}), ElementsAre(TransferId{3}, TransferId{4}));
  EXPECT_THAT(graph.dependents(TransferId{2}), ElementsAre(TransferId{3}, TransferId{4}));
  EXPECT_EQ(graph.dependency_count(TransferId{4}), 2U);
}

TEST(ReadHtsimMatrix, MessagesOfOneConnectionAndFailures) {
  const Network network = hosts(8);
  const auto read = matrix_from(
      "Nodes 8\nConnections 2\nFailures 1\n0->1 id 1 msg 1 start 0 size 10\n0->1 id 1 msg start 0 size 10\n"
      "failure switch_type AGG switch_id 0 link_id 1\n",
      network);
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  EXPECT_EQ(read.value->size(), 2U);
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("6:1 failures in connection matrices")));
}

std::vector<std::string> errors_of(const std::string& lines, int connections = 1, int triggers = 0) {
  std::string text = "Nodes 4\nConnections " + std::to_string(connections) + "\n";
  text += "Triggers " + std::to_string(triggers) + "\n" + lines;
  const auto read = matrix_from(text, hosts(4));
  EXPECT_EQ(read.value.has_value(), read.errors.empty());
  return read.errors;
}

TEST(ReadHtsimMatrix, EveryErrorHasALocation) {
  EXPECT_THAT(errors_of("0->4 start 0 size 1"), ElementsAre("4:4 the destination host is `4`; expected 0 to 3"));
  EXPECT_THAT(errors_of("0->0 start 0 size 1"), ElementsAre("4:4 host `0` sends to itself"));
  EXPECT_THAT(errors_of("0-> start 0 size 1"), ElementsAre(HasSubstr("4:4 expected the destination host")));
  EXPECT_THAT(errors_of("0->1 start zero size 1"), ElementsAre(HasSubstr("4:12 expected the start in picoseconds")));
  EXPECT_THAT(errors_of("0->1 start 0 size -1"), ElementsAre(HasSubstr("4:19 the size in bytes is `-1`")));
  EXPECT_THAT(errors_of("0->1 start 0 size 0"), ElementsAre(HasSubstr("4:19 a flow of 0 bytes")));
  EXPECT_THAT(errors_of("0->1 start 0"), ElementsAre(HasSubstr("4:13 expected `size`")));
  EXPECT_THAT(errors_of("0->1 size 5"), ElementsAre(HasSubstr("4:12 expected `start` and picoseconds")));
  EXPECT_THAT(errors_of("0->1 start 0 trigger 1 size 5"), ElementsAre(HasSubstr("4:22 a flow has either")));
  EXPECT_THAT(errors_of("0->1 strat 0 size 5"), ElementsAre("4:6 unknown key `strat` of a flow"));
  EXPECT_THAT(errors_of("0->1 id 0 start 0 size 5"), ElementsAre(HasSubstr("4:9 the flow's id is `0`")));
  EXPECT_THAT(errors_of("flow 1"), ElementsAre(HasSubstr("4:1 expected `src->dst`")));
  EXPECT_THAT(errors_of("0->1 start 0 size 5\n0->1 start 0 size 5"),
              ElementsAre("2:13 Connections is 1 but the file has 2"));
  EXPECT_THAT(errors_of("0->1 id 1 start 0 size 5\n0->1 id 1 start 0 size 5", 2),
              ElementsAre("5:1 duplicate flow 1; first given on line 4"));
  EXPECT_THAT(matrix_from("Nodes 9\nConnections 1\n0->1 start 0 size 1\n", hosts(4)).errors,
              ElementsAre("1:7 the file is for 9 hosts but the network has 4"));
  EXPECT_THAT(matrix_from("0->1 start 0 size 1\n", hosts(4)).errors,
              ElementsAre("1:1 Connections is 0 but the file has 1"));
  EXPECT_THAT(matrix_from("", hosts(4)).errors, ElementsAre("1:1 the file has no flows"));
}

TEST(ReadHtsimMatrix, TriggersThatCannotWork) {
  EXPECT_THAT(errors_of("0->1 trigger 5 size 5"), ElementsAre("4:14 the file has no `trigger id 5`"));
  EXPECT_THAT(errors_of("0->1 start 0 size 5 send_done_trigger 7"), ElementsAre("4:39 the file has no `trigger id 7`"));
  EXPECT_THAT(errors_of("0->1 trigger 5 size 5\ntrigger id 5 oneshot", 1, 1),
              ElementsAre(HasSubstr("5:1 no flow fires this trigger")));
  EXPECT_THAT(errors_of("0->1 start 0 size 5 send_done_trigger 1\n1->2 start 0 size 5 send_done_trigger 1\n"
                        "2->3 trigger 1 size 5\ntrigger id 1 oneshot",
                        3, 1),
              ElementsAre("7:1 2 flows fire this oneshot trigger"));
  EXPECT_THAT(
      errors_of("0->1 start 0 size 5 send_done_trigger 1\n2->3 trigger 1 size 5\ntrigger id 1 barrier count 2", 2, 1),
      ElementsAre("6:1 this barrier waits for 2 flows but 1 fire it"));
  EXPECT_THAT(errors_of("0->1 start 0 size 5 send_done_trigger 1\n2->3 trigger 1 size 5\n2->1 trigger 1 size 5\n"
                        "trigger id 1 multishot",
                        3, 1),
              ElementsAre(HasSubstr("7:1 a multishot trigger for several flows")));
  EXPECT_THAT(errors_of("0->1 trigger 1 size 5 send_done_trigger 1\ntrigger id 1 oneshot", 1, 1),
              ElementsAre("4:1 dependency cycle: this flow waits for itself, directly or through others"));
  EXPECT_THAT(errors_of("0->1 start 0 size 5\ntrigger id 1 oneshot\ntrigger id 1 oneshot", 1, 2),
              ElementsAre("6:1 duplicate trigger 1; first given on line 5"));
  EXPECT_THAT(errors_of("0->1 start 0 size 5\ntrigger oneshot", 1, 1), ElementsAre(HasSubstr("5:16 expected `id`")));
  EXPECT_THAT(errors_of("0->1 start 0 size 5\ntrigger id 3", 1, 1), ElementsAre(HasSubstr("5:13 expected `oneshot`")));
  EXPECT_THAT(errors_of("0->1 start 0 size 5\ntrigger id 3 twice", 1, 1), ElementsAre(HasSubstr("5:14 expected `id`")));
}

// A chain of triggers as in the W3 workload: the same flows as from the neutral format.
TEST(ReadHtsimMatrix, ChainOfTriggersMatchesTheNeutralFile) {
  const Network network = hosts(4);
  auto matrix = matrix_from(
      "Nodes 4\nConnections 3\nTriggers 2\n0->1 id 1 start 0 size 9 recv_done_trigger 1\n"
      "1->2 id 2 trigger 1 size 9 recv_done_trigger 2\n2->3 id 3 trigger 2 size 9\n"
      "trigger id 1 oneshot\ntrigger id 2 oneshot\n",
      network);
  auto neutral = fixtures::flows_from("0 0 1 9 0 -1\n1 1 2 9 0 0\n2 2 3 9 0 1\n", network);
  ASSERT_TRUE(matrix.value && neutral.value);
  ASSERT_TRUE(matrix.value->finish(network).ok() && neutral.value->finish(network).ok());
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto id = static_cast<TransferId>(i);
    EXPECT_EQ((*matrix.value)[id].source, (*neutral.value)[id].source);
    EXPECT_EQ((*matrix.value)[id].destination, (*neutral.value)[id].destination);
    EXPECT_EQ((*matrix.value)[id].bytes, (*neutral.value)[id].bytes);
    EXPECT_EQ(matrix.value->dependents(id).size(), neutral.value->dependents(id).size());
  }
}

std::string tier(int number, const std::string& keys) { return "Tier " + std::to_string(number) + "\n" + keys; }

const std::string kFt8 =
    "Nodes 128\nTiers 3\nPodsize 16\n" +
    tier(0, "Oversubscribed 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\n") +
    tier(1, "Downlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\nBundle 1\n") +
    tier(2, "Downlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n");

void expect_same(const Network& a, const Network& b) {
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  ASSERT_EQ(a.links().size(), b.links().size());
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    EXPECT_EQ(a.name_of(id), b.name_of(id));
    EXPECT_EQ(a.node(id).kind, b.node(id).kind);
    EXPECT_EQ(a.node(id).tier, b.node(id).tier);
    EXPECT_EQ(a.node(id).group, b.node(id).group);
  }
  for (std::size_t i = 0; i < a.links().size(); ++i) {
    EXPECT_EQ(a.links()[i].from, b.links()[i].from) << i;
    EXPECT_EQ(a.links()[i].to, b.links()[i].to) << i;
    EXPECT_EQ(a.links()[i].rate, b.links()[i].rate);
    EXPECT_EQ(a.links()[i].delay, b.links()[i].delay);
  }
}

TEST(ReadHtsimTopology, ThreeTiersMatchTheGeneratedFatTree) {
  const auto read = htsim_topology_from(kFt8);
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  expect_same(*read.value, fat_tree({}));  // FT8 is the generator's default
}

TEST(ReadHtsimTopology, TwoTiersAreLeafAndSpine) {
  const auto read = htsim_topology_from(
      "# LS128\nNodes 128\nTiers 2\nPodsize 128\n" +
      tier(0, "Oversubscribed 1\nDownlink_speed_Gbps 400\nRadix_Down 16\nRadix_Up 16\nDownlink_Latency_ns 1000\n") +
      tier(1, "Downlink_speed_Gbps 400\nRadix_Down 8\nDownlink_Latency_ns 1000\n"));
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  LeafSpineShape shape;
  shape.uplink_rate = gigabits(400);
  shape.delay = microseconds(1);
  expect_same(*read.value, leaf_spine(shape));
}

// htsim's own test.topo: bundles of two from the core down, at half the speed.
TEST(ReadHtsimTopology, BundlesAndSpeedsOfEveryTier) {
  const auto read = htsim_topology_from(
      "Nodes 8\nTiers 3\nPodsize 4\n" +
      tier(0, "Downlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 300\n") +
      tier(1,
           "Downlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 1000\nBundle 1\n"
           "Switch_Latency_ns 500\n") +
      tier(2, "Downlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 2000\nBundle 2\nQueue_Down 1000\n"));
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  const Network& network = *read.value;
  EXPECT_EQ(network.endpoints().size(), 8U);
  EXPECT_EQ(network.nodes().size(), 8U + 4 + 4 + 4);
  EXPECT_EQ(network.links().size(), 2U * (8 + 4 * 2 + 4 * 2 * 2));
  const NodeId agg = network.find_node("agg0");
  const NodeId core = network.find_node("core0");
  int parallel = 0;
  for (const LinkId id : network.out_links(agg)) {
    if (network.link(id).to != core) continue;
    ++parallel;
    EXPECT_EQ(network.link(id).rate, gigabits(100));
    EXPECT_EQ(network.link(id).delay, nanoseconds(2000 + 250));
  }
  EXPECT_EQ(parallel, 2);
  EXPECT_EQ(network.buffer_of(core).total, Bytes(4000));
  EXPECT_EQ(network.buffer_of(agg).total, SwitchBuffer{}.total);
  // From a host over its ToR and an aggregation switch to another ToR and host: 4 links, and 300 + 500 + 300 ns.
  const Link& first = network.link(network.out_links(network.endpoints()[0])[0]);
  const NodeId tor = first.to;
  for (const LinkId id : network.out_links(tor)) {
    if (network.link(id).to == agg) {
      EXPECT_EQ((first.delay + network.link(id).delay) * 2, nanoseconds(4000 + 1100));
    }
  }
}

TEST(ReadHtsimTopology, ContradictionsAreReportedAtTheirLocation) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kFt8;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return htsim_topology_from(text.replace(at, from.size(), to)).errors;
  };
  EXPECT_THAT(with("Nodes 128", "Nodes 100"), ElementsAre("3:9 Nodes is not a multiple of Podsize"));
  EXPECT_THAT(with("Tiers 3", "Tiers 1"), ElementsAre("2:7 expected 2 or 3 tiers"));
  EXPECT_THAT(with("Tiers 3", "Tiers 4"), ElementsAre("2:7 the number of tiers is `4`; expected 1 to 3"));
  EXPECT_THAT(with("Podsize 16\n", ""), ElementsAre(HasSubstr("1:1 missing `podsize`")));
  EXPECT_THAT(with("Radix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\nTier 1",
                   "Radix_Down 5\nRadix_Up 4\nDownlink_Latency_ns 1000\nTier 1"),
              ElementsAre(HasSubstr("Podsize is not a multiple")));
  EXPECT_THAT(with("Oversubscribed 1", "Oversubscribed 3"), ElementsAre("5:16 4 ports down and 4 up are not 3 to 1"));
  EXPECT_THAT(with("Radix_Down 8", "Radix_Down 9"), ElementsAre(HasSubstr("expected 8: 8 pods below with 1 links")));
  EXPECT_THAT(with("Bundle 1", "Bundle 3"), ElementsAre(HasSubstr("it is not a multiple of the bundle above")));
  EXPECT_THAT(with("Bundle 1", "Bundel 1"), ElementsAre(HasSubstr("unknown key `Bundel`")));
  EXPECT_THAT(with("Bundle 1", "Bundle 1\nBundle 1"),
              ElementsAre(HasSubstr("duplicate `Bundle`; first given on line")));
  EXPECT_THAT(with("Tier 2", "Tier 1"),
              ElementsAre(HasSubstr("duplicate `Tier`"), ::testing::_, ::testing::_, ::testing::_));
  EXPECT_THAT(with("Downlink_speed_Gbps 100", "Downlink_speed_Gbps 0"),
              ElementsAre(HasSubstr("the speed in Gb/s must not be 0")));
  EXPECT_THAT(with("Nodes 128", "Radix_Up 3\nNodes 128"), ElementsAre("1:1 `Radix_Up` comes before the first `Tier`"));
  EXPECT_THAT(with("Radix_Down 8", "Radix_Down 8\nRadix_Up 8"),
              ElementsAre(HasSubstr("the top tier cannot have uplinks")));
  EXPECT_THAT(with("Nodes 128", "Nodes 999999999999"), ElementsAre(HasSubstr("1:7 the number of hosts is")));
  EXPECT_THAT(htsim_topology_from("").errors.size(), 3U);
}

TEST(ReadHtsimTopology, ImpossibleSizesAreRejectedBeforeBuilding) {
  const auto read =
      htsim_topology_from("Nodes 4000000\nTiers 2\nPodsize 4000000\n" +
                          tier(0, "Downlink_speed_Gbps 1\nRadix_Down 4\nRadix_Up 100\nDownlink_Latency_ns 1\n") +
                          tier(1, "Downlink_speed_Gbps 1\nRadix_Down 1000000\nDownlink_Latency_ns 1\n"));
  EXPECT_THAT(read.errors, ElementsAre(HasSubstr("104000000 links exceed")));
}

}  // namespace
}  // namespace weft::netsim
