#include "workload/import/chakra_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/import/chakra_fixture.h"

namespace weft::workload {
namespace {

using fixtures::collective;
using fixtures::kernel;
using fixtures::NodeWriter;
using fixtures::trace_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

ChakraTrace read(std::string_view bytes) {
  Result<ChakraTrace> trace = read_chakra(bytes, "t.0.et");
  EXPECT_TRUE(trace.ok()) << trace.error().text();
  return trace.ok() ? std::move(*trace) : ChakraTrace();
}
std::string problem(std::string_view bytes) {
  const Result<ChakraTrace> trace = read_chakra(bytes, "t.0.et");
  return trace.ok() ? "none" : trace.error().text();
}

// The 81 bytes of all_gather.0.et for four NPUs, as written by ASTRA-sim's own generator
// (examples/workload/microbenchmarks of astra-sim 518bd51).
constexpr std::string_view kAstraSim =
    "\x07\x0a\x05"
    "0.0.4H\x12\x14"
    "all_gather_4npus_1MB\x18\x07R\x0e\x0a\x09is_cpu_op\xd8\x01\x00R\x0d\x0a\x09"
    "comm_typeH\x02R\x0f\x0a\x09"
    "comm_sizeH\x80\x80@"sv;

TEST(ReadChakra, ReadsAnAstraSimFile) {
  ASSERT_EQ(kAstraSim.size(), 81U);
  const ChakraTrace trace = read(kAstraSim);
  EXPECT_EQ(trace.version, "0.0.4");
  ASSERT_EQ(trace.nodes.size(), 1U);
  const ChakraNode& node = trace.nodes[0];
  EXPECT_EQ(node.id, 0U);
  EXPECT_EQ(trace.names[node.name], "all_gather_4npus_1MB");
  EXPECT_EQ(node.type, ChakraType::collective);
  EXPECT_EQ(node.collective, ChakraCollective::all_gather);
  EXPECT_EQ(node.communication, 1U << 20U);
  EXPECT_FALSE(node.cpu);
  EXPECT_EQ(node.stream, -1);
}

TEST(ReadChakra, DependenciesBecomeIndices) {
  const ChakraTrace trace =
      read(trace_of({kernel(30, 5).after({10, 20, 10}), kernel(10, 1), kernel(20, 2).called_by(10)}));
  ASSERT_EQ(trace.nodes.size(), 3U);
  const auto earlier = [&](std::size_t n) {
    const ChakraNode& node = trace.nodes[n];
    return std::vector<std::uint32_t>(trace.earlier.begin() + node.first_earlier,
                                      trace.earlier.begin() + node.first_earlier + node.earlier_count);
  };
  EXPECT_THAT(earlier(0), ElementsAre(1U, 2U));
  EXPECT_THAT(earlier(1), ElementsAre());
  EXPECT_THAT(earlier(2), ElementsAre(1U));
  EXPECT_EQ(trace.nodes[0].duration_us, 5U);
}

TEST(ReadChakra, AttributesOfEveryNumericType) {
  for (const auto& [field, value] : std::vector<std::pair<std::uint32_t, std::uint64_t>>{
           {7, 300}, {9, 300}, {11, 300}, {13, 300}, {15, 600}, {17, 600}, {27, 300}}) {
    const ChakraTrace trace =
        read(trace_of({NodeWriter(1, "k", ChakraType::compute).attribute("num_ops", value, field)}));
    ASSERT_EQ(trace.nodes.size(), 1U);
    EXPECT_EQ(trace.nodes[0].operations, 300U) << field;
  }
}

TEST(ReadChakra, ReadsPyTorchNodes) {
  const ChakraTrace trace = read(trace_of(
      {NodeWriter(2, "## process_group:init ##", ChakraType::metadata)
           .inputs(R"(['[{"pg_name": "0", "ranks": [], "backend": "nccl"}, {"pg_name": "3", "ranks": [0, 4]}]'])"),
       NodeWriter(5, "aten::mm", ChakraType::compute).on_cpu().lasts(7),
       collective(6, ChakraCollective::all_reduce, 64).attribute("pg_name", "3"sv).attribute("stream", 20)}));
  ASSERT_EQ(trace.process_groups.size(), 2U);
  EXPECT_EQ(trace.process_groups[1].name, "3");
  EXPECT_THAT(trace.process_groups[1].ranks, ElementsAre(0U, 4U));
  EXPECT_TRUE(trace.nodes[1].cpu);
  EXPECT_EQ(trace.groups[trace.nodes[2].group], "3");
  EXPECT_EQ(trace.nodes[2].stream, 20);
}

// Callers that the converter left out, that are renumbered to the node itself (as node 3322 of Chakra's own test trace
// is), or that form a cycle.
TEST(ReadChakra, InvalidControlDependenciesAreDropped) {
  const ChakraTrace missing = read(trace_of({kernel(1, 1).called_by(99), kernel(2, 1).called_by(2).after({1})}));
  EXPECT_EQ(missing.dropped, 2U);
  EXPECT_FALSE(missing.control_cycle);
  const ChakraTrace cycle = read(trace_of({kernel(1, 1).called_by(2), kernel(2, 1).after({1})}));
  EXPECT_TRUE(cycle.control_cycle);
  EXPECT_EQ(cycle.nodes[0].earlier_count, 0U);
  EXPECT_EQ(cycle.nodes[1].earlier_count, 1U);
}

TEST(ReadChakra, ErrorsNameTheByteOrNode) {
  EXPECT_EQ(problem(""), "t.0.et: the trace has no nodes");
  EXPECT_EQ(problem(trace_of({})), "t.0.et: the trace has no nodes");
  EXPECT_EQ(problem(kAstraSim.substr(0, 40)), "t.0.et: byte 9: 72 bytes announced but only 31 left");
  EXPECT_THAT(problem("\xff\xff\xff\xff\xff\x0f"sv), HasSubstr("byte 0: a message of"));
  EXPECT_EQ(problem("\x1f\x8b\x08"sv), "t.0.et: the trace is compressed: decompress it with gunzip first");
  EXPECT_EQ(problem(trace_of({kernel(1, 1), kernel(1, 2)})), "t.0.et: node 1: duplicate node id");
  EXPECT_EQ(problem(trace_of({kernel(1, 1).after({1})})), "t.0.et: node 1: `kernel 1` waits for itself");
  EXPECT_EQ(problem(trace_of({kernel(1, 1).after({7})})),
            "t.0.et: node 1: `kernel 1` waits for node 7, which is not in the file");
  EXPECT_EQ(problem(trace_of({NodeWriter(3, "x", static_cast<ChakraType>(9))})), "t.0.et: node 3: unknown type 9");
  EXPECT_THAT(problem(trace_of({kernel(3, 1).attribute("comm_size", UINT64_MAX)})),
              HasSubstr("node 3: comm_size is -1; expected 0 to"));
  EXPECT_THAT(problem(trace_of({kernel(3, 1).attribute("comm_type", 10)})), HasSubstr("node 3: comm_type is 10"));
  EXPECT_THAT(problem(trace_of({NodeWriter(4, "x", ChakraType::metadata).inputs(R"([{"pg_name": 1, "ranks": 3}])")})),
              HasSubstr("node 4: group `1`: expected a list of ranks"));
}

TEST(ReadChakra, TruncationsAndBitFlipsAreHandled) {
  const std::string good = trace_of({kernel(1, 5), collective(2, ChakraCollective::all_to_all, 4096).after({1}),
                                     fixtures::send(3, 1, 10).after({2}), fixtures::receive(4, 1, 10)});
  ASSERT_EQ(read(good).nodes.size(), 4U);
  int refused = 0;
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Result<ChakraTrace> trace = read_chakra(good.substr(0, size), "cut");
    // Messages are framed: only a cut between two of them leaves a valid trace, with fewer nodes.
    refused += trace.ok() ? 0 : 1;
    if (trace.ok()) {
      EXPECT_LT(trace->nodes.size(), 4U) << size;
    }
  }
  EXPECT_EQ(refused, static_cast<int>(good.size()) - 3) << "three of the nodes can be the last one";
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    const Result<ChakraTrace> trace = read_chakra(bad, "flipped");
    EXPECT_TRUE(trace.ok() || !trace.error().message.empty());
  }
}

TEST(ReadChakraJson, ReadsTheFormatOfChakrasFeeder) {
  const ChakraTrace trace = read(R"({
  "workload_graph": [
    {"Id": 216, "Name": "aten::mm", "NodeType": 4, "ctrlDeps": [3], "data_deps": [], "runtime": 318, "is_cpu_op": true},
    {"Id": 435, "Name": "ncclKernel", "NodeType": 7, "data_deps": [216], "runtime": 28, "is_cpu_op": false,
     "comm_type": 0, "comm_size": 4096}
  ]
})");
  ASSERT_EQ(trace.nodes.size(), 2U);
  EXPECT_EQ(trace.nodes[0].duration_us, 318U);
  EXPECT_TRUE(trace.nodes[0].cpu);
  EXPECT_EQ(trace.dropped, 1U);
  EXPECT_EQ(trace.nodes[1].type, ChakraType::collective);
  EXPECT_EQ(trace.nodes[1].communication, 4096U);
  EXPECT_EQ(trace.nodes[1].earlier_count, 1U);
}

TEST(ReadChakraJson, ErrorsNameTheLine) {
  EXPECT_THAT(problem("{\"a\": 1}"), HasSubstr("expected a list `workload_graph`"));
  EXPECT_EQ(problem("{\n\"workload_graph\": [\n {\"Name\": \"x\"}]}"), "t.0.et:3:2: expected a whole number `Id`");
  EXPECT_EQ(problem("{\"workload_graph\": [\n {\"Id\": 1, \"data_deps\": 3}]}"),
            "t.0.et:2:25: expected a list of node ids");
  EXPECT_THAT(problem("{\"workload_graph\": [\n {\"Id\": 1, \"NodeType\": 12}]}"),
              HasSubstr("t.0.et:2:12: node 1: unknown type 12"));
  EXPECT_THAT(problem("{\"workload_graph\": ["), HasSubstr("t.0.et:1:"));
}

TEST(ReadChakraGroups, ReadsBothFormats) {
  const auto astra = read_chakra_groups(R"({"1": [0, 1], "2": [2, 3]})", "groups.json");
  ASSERT_TRUE(astra.ok());
  ASSERT_EQ(astra->size(), 2U);
  EXPECT_EQ((*astra)[1].name, "2");
  EXPECT_THAT((*astra)[1].ranks, ElementsAre(2U, 3U));
  EXPECT_FALSE(read_chakra_groups(R"({"1": 7})", "groups.json").ok());
  EXPECT_FALSE(read_chakra_groups(R"([{"ranks": [1]}])", "groups.json").ok());
  EXPECT_FALSE(read_chakra_groups("[", "groups.json").ok());
}

}  // namespace
}  // namespace weft::workload
