#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netsim/network/topologies.h"
#include "netsim/readers/reader_fixture.h"
#include "netsim/readers/workload_file.h"

namespace weft::netsim {
namespace {

using fixtures::flows_from;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Network hosts(std::uint32_t count) { return star(count, gigabits(100), microseconds(1), {}); }

TEST(ReadFlows, ReadsEveryColumn) {
  const Network network = hosts(8);
  auto read = flows_from("# hosts 8 flows 3\n10 0 7 1000 5 -1\n\n7 1 2 2000 0 10 # later\n8 2 3 1 0 7\r\n", network);
  ASSERT_TRUE(read.value) << ::testing::PrintToString(read.errors);
  TransferGraph& graph = *read.value;
  ASSERT_TRUE(graph.finish(network).ok());
  ASSERT_EQ(graph.size(), 3U);
  EXPECT_EQ(graph.transfers()[0].source, network.endpoints()[0]);
  EXPECT_EQ(graph.transfers()[0].destination, network.endpoints()[7]);
  EXPECT_EQ(graph.transfers()[0].bytes, Bytes(1000));
  EXPECT_EQ(graph.transfers()[0].start, nanoseconds(5));
  EXPECT_THAT(graph.dependents(TransferId{0}), ElementsAre(TransferId{1}));
  EXPECT_THAT(graph.dependents(TransferId{1}), ElementsAre(TransferId{2}));
  EXPECT_EQ(graph.dependency_count(TransferId{0}), 0U);
}

TEST(ReadFlows, AFlowMayWaitForALaterLine) {
  const Network network = hosts(8);
  auto read = flows_from("1 0 1 10 0 2\n2 1 2 10 0 3\n3 2 3 10 0 -1\n", network);
  ASSERT_TRUE(read.value);
  ASSERT_TRUE(read.value->finish(network).ok());
  EXPECT_THAT(read.value->dependents(TransferId{2}), ElementsAre(TransferId{1}));
}

TEST(ReadFlows, EveryErrorHasALocation) {
  const Network network = hosts(4);
  const auto errors = [&](const char* text) { return flows_from(text, network).errors; };
  EXPECT_THAT(errors("0 0 4 10 0 -1"), ElementsAre("1:5 the destination host is `4`; expected 0 to 3"));
  EXPECT_THAT(errors("0 9 1 10 0 -1"), ElementsAre("1:3 the source host is `9`; expected 0 to 3"));
  EXPECT_THAT(errors("0 2 2 10 0 -1"), ElementsAre("1:5 host `2` sends to itself"));
  EXPECT_THAT(errors("0 0 1 0 0 -1"), ElementsAre(HasSubstr("1:7 the size in bytes is `0`; expected 1 to")));
  EXPECT_THAT(errors("0 0 1 -1 0 -1"), ElementsAre(HasSubstr("1:7 the size in bytes is `-1`")));
  EXPECT_THAT(errors("0 0 1 10 zero -1"),
              ElementsAre("1:10 expected the start in nanoseconds, a whole number, not `zero`"));
  EXPECT_THAT(errors("0 0 1 10 0"), ElementsAre(HasSubstr("1:11 expected the id of the flow to wait for")));
  EXPECT_THAT(errors("0 0 1 10 0 -2"), ElementsAre(HasSubstr("1:12 the id of the flow to wait for")));
  EXPECT_THAT(errors("0 0 1 10 0 -1 5"), ElementsAre("1:15 expected the line to end here, not `5`"));
  EXPECT_THAT(errors("0 0 1 10 0 -1\n0 1 2 10 0 -1"), ElementsAre("2:1 duplicate flow 0; first given on line 1"));
  EXPECT_THAT(errors("0 0 1 10 0 5"), ElementsAre("1:12 flow 5 to wait for does not exist"));
  EXPECT_THAT(errors("99999999999999999999 0 1 10 0 -1"), ElementsAre(HasSubstr("1:1 the flow's id is")));
  EXPECT_THAT(errors("# nothing\n"), ElementsAre("1:1 the file has no flows"));
  EXPECT_THAT(errors(""), ElementsAre("1:1 the file has no flows"));
}

TEST(ReadFlows, CyclesOfAnyLengthAreFound) {
  const Network network = hosts(4);
  const auto errors = [&](const char* text) { return flows_from(text, network).errors; };
  EXPECT_THAT(errors("0 0 1 10 0 0"),
              ElementsAre("1:12 dependency cycle: this flow waits for itself, directly or through others"));
  // 1 waits for 2 and 2 for 3 and 3 for 2: the cycle is lines 3 and 4, and line 2 only waits for it.
  const auto found = errors("0 0 1 10 0 -1\n1 0 1 10 0 2\n2 0 1 10 0 3\n3 0 1 10 0 2\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].starts_with("3:12") || found[0].starts_with("4:12")) << found[0];
}

TEST(ReadFlows, StopsAfterTwentyErrors) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "0 0 0 0\n";
  const auto read = flows_from(text, hosts(4));
  EXPECT_FALSE(read.value);
  EXPECT_EQ(read.errors.size(), 21U);
}

// A network without hosts rejects every flow with an error.
TEST(ReadFlows, RejectsFlowsWithoutHosts) {
  const Network network = hosts(0);
  EXPECT_THAT(flows_from("0 0 1 10 0 -1", network).errors, ElementsAre("1:3 the network has no hosts"));
}

TEST(ReadFlows, HundredThousandInAnyOrder) {
  const Network network = hosts(16);
  constexpr std::size_t kCount = 100'000;
  std::string text;
  for (std::size_t i = kCount; i-- > 0;) {
    fmt::format_to(std::back_inserter(text), "{} {} {} 100 0 {}\n", i * 7, i % 16, (i + 1) % 16,
                   i == 0 ? -1 : static_cast<int>((i - 1) * 7));
  }
  auto read = flows_from(std::move(text), network);
  ASSERT_TRUE(read.value);
  ASSERT_TRUE(read.value->finish(network).ok());
  ASSERT_EQ(read.value->size(), kCount);
  for (std::size_t i = 0; i + 1 < kCount; ++i) {
    // The flow on line i has the id that the previous one waits for.
    ASSERT_EQ(read.value->dependents(static_cast<TransferId>(i + 1))[0], static_cast<TransferId>(i));
  }
}

TEST(WorkloadFile, DetectsTheFormatByExtensionThenByContent) {
  Sources sources;
  const auto format = [&](const char* path, const char* text) { return flow_format(sources, sources.add(path, text)); };
  EXPECT_EQ(format("a.flows", "1"), FlowFormat::neutral);
  EXPECT_EQ(format("a.cm", "0 0 1 1 0 -1"), FlowFormat::htsim);
  EXPECT_EQ(format("a.txt", "# x\n\n0 0 1 1 0 -1\n"), FlowFormat::neutral);
  EXPECT_EQ(format("a.txt", "Nodes 4\n"), FlowFormat::htsim);
  EXPECT_EQ(format("a.txt", "0->1 start 0 size 4\n"), FlowFormat::htsim);
  EXPECT_EQ(format("a.txt", "2\n0 1 3 100 1000 0.1\n"), FlowFormat::hpcc);
  EXPECT_EQ(format("a.txt", "1 2 3\n"), std::nullopt);
  EXPECT_EQ(format("a.txt", ""), std::nullopt);
  EXPECT_EQ(format("a.txt", "{\"a\": 1}"), std::nullopt);
  const auto topology = [&](const char* path, const char* text) {
    return topology_format(sources, sources.add(path, text));
  };
  EXPECT_EQ(topology("a.topo", "1 2 3"), TopologyFormat::htsim);
  EXPECT_EQ(topology("a.txt", "Nodes 4"), TopologyFormat::htsim);
  EXPECT_EQ(topology("a.txt", "4 1 3\n"), TopologyFormat::hpcc);
  EXPECT_EQ(topology("a", "90 8 2 72 544 A100\n"), TopologyFormat::hpcc);
  EXPECT_EQ(topology("a.yaml", "- 1"), std::nullopt);
}

TEST(WorkloadFile, ListsSupportedFormatsForAnUnknownFile) {
  const Network network = hosts(4);
  const auto flows = fixtures::read_text<TransferGraph>(read_transfers, "[]", network);
  EXPECT_THAT(flows.errors, ElementsAre("1:1 unknown flow file format"));
  const auto topology = fixtures::read_text<Network>(read_topology, "[]");
  EXPECT_THAT(topology.errors, ElementsAre("1:1 unknown topology file format"));
  EXPECT_TRUE(fixtures::read_text<TransferGraph>(read_transfers, "0 0 1 10 0 -1", network).value);
  EXPECT_TRUE(fixtures::read_text<TransferGraph>(read_transfers, "1\n0 1 3 100 10 0", network).value);
  EXPECT_TRUE(fixtures::read_text<TransferGraph>(read_transfers, "Connections 1\n0->1 start 0 size 1", network).value);
  EXPECT_TRUE(fixtures::read_text<Network>(read_topology, "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n").value);
}

}  // namespace
}  // namespace weft::netsim
