#include "workload/import/chakra_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/graph/graph_run.h"
#include "workload/import/chakra_fixture.h"

namespace weft::workload {
namespace {

using fixtures::collective;
using fixtures::kernel;
using fixtures::NodeWriter;
using fixtures::receive;
using fixtures::send;
using fixtures::trace_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_view_literals;

constexpr SimTime us(std::int64_t n) { return netsim::microseconds(n); }

// One microsecond per byte.
class ByteTimer : public CommunicationTimer {
 public:
  SimTime collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) override {
    asked.push_back({operation, bytes.count(), group});
    return us(bytes.count());
  }
  SimTime message(Bytes bytes, const OpGroup& group) override {
    asked.push_back({netsim::Collective::send_recv, bytes.count(), group});
    return us(bytes.count());
  }
  struct Question {
    netsim::Collective operation;
    std::int64_t bytes;
    OpGroup group;
  };
  std::vector<Question> asked;
};

struct Chakra : public ::testing::Test {
  void SetUp() override { options.node_gpus = 2; }
  // One trace per rank, from rank 0 on.
  void make(const std::vector<std::string>& traces, std::uint32_t ranks = 0) {
    ChakraSet set(std::max(ranks, static_cast<std::uint32_t>(traces.size())));
    for (std::uint32_t rank = 0; rank < traces.size(); ++rank) {
      const std::string path = "t." + std::to_string(rank) + ".et";
      Result<ChakraTrace> trace = read_chakra(traces[rank], path);
      ASSERT_TRUE(trace.ok()) << trace.error().text();
      const Status status = set.add(rank, std::move(*trace), path);
      if (!status.ok()) problem = status.error().text();
    }
    distinct = set.distinct();
    Result<ChakraWorkload> made = std::move(set).finish(options);
    if (made.ok()) {
      workload = std::move(*made);
    } else if (problem.empty()) {
      problem = made.error().text();
    }
  }
  void play(const std::vector<std::string>& traces, std::uint32_t ranks = 0) {
    make(traces, ranks);
    ASSERT_EQ(problem, "");
    Result<GraphRun> played = run_graph(workload.graph, timer, StreamOrder::ready);
    ASSERT_TRUE(played.ok()) << played.error().text();
    run = std::move(*played);
  }

  ChakraOptions options;
  std::size_t distinct = 0;
  ChakraWorkload workload;
  std::string problem;
  ByteTimer timer;
  GraphRun run;
};

TEST_F(Chakra, EquivalentRanksAreOneClass) {
  // Ids differ between ranks, as ASTRA-sim's generators number them.
  std::vector<std::string> traces;
  for (std::uint64_t rank = 0; rank < 6; ++rank) {
    traces.push_back(trace_of(
        {kernel(rank * 10, 3), collective(rank * 10 + 1, ChakraCollective::all_reduce, 4).after({rank * 10})}));
  }
  play(traces);
  EXPECT_EQ(distinct, 1U);
  ASSERT_EQ(run.classes.size(), 1U);
  EXPECT_EQ(run.classes[0].name, "ranks 0-5");
  EXPECT_EQ(run.ranks, 6U);
  EXPECT_EQ(run.total, us(7));
  ASSERT_EQ(timer.asked.size(), 1U);
  EXPECT_EQ(timer.asked[0].group.ranks, 6U);
  EXPECT_EQ(timer.asked[0].group.node_ranks, 2U);
  EXPECT_THAT(workload.warnings, IsEmpty());
}

TEST_F(Chakra, SizesAreCountedAsInNcclTests) {
  const std::string trace =
      trace_of({collective(1, ChakraCollective::all_gather, 5), collective(2, ChakraCollective::reduce_scatter, 20),
                collective(3, ChakraCollective::all_to_all, 8), collective(4, ChakraCollective::broadcast, 9),
                collective(5, ChakraCollective::barrier, 0)});
  play({trace, trace, trace, trace});
  std::vector<std::pair<netsim::Collective, std::int64_t>> asked;
  for (const auto& question : timer.asked) asked.emplace_back(question.operation, question.bytes);
  EXPECT_THAT(
      asked,
      ElementsAre(std::pair(netsim::Collective::all_gather, 20), std::pair(netsim::Collective::reduce_scatter, 20),
                  std::pair(netsim::Collective::all_to_all, 8), std::pair(netsim::Collective::broadcast, 9),
                  std::pair(netsim::Collective::all_reduce, 4)));
}

// A straggler delays only its own communicator.
TEST_F(Chakra, CollectivesWaitForTheSlowestOfTheirGroup) {
  options.groups = {{"1", {0, 1}}, {"2", {2, 3}}};
  const auto rank = [](std::uint64_t time, std::string_view group) {
    return trace_of(
        {kernel(1, time), collective(2, ChakraCollective::all_reduce, 4).after({1}).attribute("pg_name", group)});
  };
  play({rank(3, "1"), rank(50, "1"), rank(3, "2"), rank(3, "2")});
  ASSERT_EQ(run.classes.size(), 3U);
  EXPECT_EQ(run.classes[0].end, us(54));
  EXPECT_EQ(run.classes[1].end, us(54));
  EXPECT_EQ(run.classes[2].name, "ranks 2-3");
  EXPECT_EQ(run.classes[2].end, us(7));
}

// Four stages send forward: all classes differ, although the middle two have equal traces.
TEST_F(Chakra, PipelineIsNotFolded) {
  play({trace_of({kernel(1, 2), send(2, 1, 3).after({1})}),
        trace_of({receive(1, 0, 3), kernel(2, 2).after({1}), send(3, 2, 3).after({2})}),
        trace_of({receive(1, 1, 3), kernel(2, 2).after({1}), send(3, 3, 3).after({2})}),
        trace_of({receive(1, 2, 3), kernel(2, 2).after({1})})});
  EXPECT_EQ(distinct, 3U);
  ASSERT_EQ(run.classes.size(), 4U);
  EXPECT_EQ(run.total, us(4 * 2 + 3 * 3));
  EXPECT_EQ(timer.asked[0].group.node_ranks, 2U);  // 0 to 1, in one domain
  EXPECT_EQ(timer.asked[1].group.node_ranks, 1U);  // 1 to 2, in two
}

// Two parallel pipelines of two stages, and a closed ring: peers are the same for every member.
TEST_F(Chakra, WrapAroundPeersAreFolded) {
  play({trace_of({kernel(1, 2), send(2, 2, 3).after({1})}), trace_of({kernel(1, 2), send(2, 3, 3).after({1})}),
        trace_of({receive(1, 0, 3), kernel(2, 2).after({1})}), trace_of({receive(1, 1, 3), kernel(2, 2).after({1})})});
  ASSERT_EQ(run.classes.size(), 2U);
  EXPECT_EQ(run.classes[1].name, "ranks 2-3");
  EXPECT_EQ(run.total, us(7));
  options.node_gpus = 8;
  std::vector<std::string> ring;
  for (std::uint64_t rank = 0; rank < 5; ++rank) {
    ring.push_back(trace_of({send(1, (rank + 1) % 5, 3), receive(2, (rank + 4) % 5, 3), kernel(3, 1).after({1, 2})}));
  }
  play(ring);
  ASSERT_EQ(run.classes.size(), 1U);
  EXPECT_EQ(run.total, us(4));
}

TEST_F(Chakra, MessagesAreMatchedByTag) {
  play({trace_of({send(1, 1, 3, 7), send(2, 1, 3, 8).after({1})}),
        trace_of({receive(1, 0, 3, 8), receive(2, 0, 3, 7), kernel(3, 1).after({1})})});
  EXPECT_EQ(run.classes[1].end, us(7));  // the second message ends at 6
}

TEST_F(Chakra, RooflineForKernelsWithoutDuration) {
  options.flops = 1e12;
  options.memory = 1e9;
  options.host_link = 5e8;
  const auto node = [](std::uint64_t id, ChakraType type, std::uint64_t operations, std::uint64_t bytes) {
    return NodeWriter(id, "n" + std::to_string(id), type)
        .attribute("num_ops", operations)
        .attribute("tensor_size", bytes, 13);
  };
  play({trace_of({node(1, ChakraType::compute, 9'000'000, 2'000), node(2, ChakraType::compute, 9'000, 2'000).after({1}),
                  node(3, ChakraType::load, 0, 2'000).after({2}),
                  node(4, ChakraType::compute, 1, 1).after({3}).lasts(100)})});
  // 9 MFLOP at 1 TFLOP/s, 2 kB at 1 GB/s, 2 kB at 0.5 GB/s, then as recorded.
  EXPECT_EQ(run.total, us(9 + 2 + 4 + 100));
  EXPECT_THAT(workload.warnings, IsEmpty());
}

// As in mlcommons/chakra issue 215: kernels depend only on their launch.
TEST_F(Chakra, KernelsWithoutDependentsGiveAWarning) {
  const auto launch = [](std::uint64_t id) { return NodeWriter(id, "launch", ChakraType::compute).on_cpu().lasts(1); };
  play({trace_of({launch(1), kernel(2, 10).after({1}), launch(3).after({1}),
                  collective(4, ChakraCollective::all_reduce, 5).after({3})})},
       4);
  EXPECT_EQ(run.total, us(11));  // in parallel
  ASSERT_EQ(workload.warnings.size(), 1U);
  EXPECT_THAT(workload.warnings[0], HasSubstr("2 of 2 GPU kernels have no dependents"));
  EXPECT_THAT(workload.warnings[0], HasSubstr("far too short"));
  EXPECT_EQ(run.classes[0].name, "all ranks");
  EXPECT_EQ(run.ranks, 4U);
}

TEST_F(Chakra, CudaStreamsOrderKernels) {
  const auto launch = [](std::uint64_t id) { return NodeWriter(id, "launch", ChakraType::compute).on_cpu().lasts(1); };
  play({trace_of({launch(1), kernel(2, 10).after({1}).attribute("stream", 7), launch(3).after({1}),
                  collective(4, ChakraCollective::all_reduce, 5).after({3}).attribute("stream", 7),
                  kernel(5, 3).after({3}).attribute("stream", 20)})},
       2);
  EXPECT_EQ(run.total, us(16));
  ASSERT_EQ(workload.warnings.size(), 1U);
  EXPECT_THAT(workload.warnings[0], HasSubstr("ordered by their recorded CUDA streams"));
}

TEST_F(Chakra, HostCommunicationIsNotTimedByTheTimer) {
  play({trace_of({collective(1, ChakraCollective::broadcast, 100).on_cpu().lasts(6),
                  NodeWriter(2, "m", ChakraType::metadata), kernel(3, 1).after({1, 2})})});
  EXPECT_EQ(run.total, us(7));
  EXPECT_THAT(timer.asked, IsEmpty());
}

TEST_F(Chakra, DataDependencyCycleIsNamed) {
  make({trace_of({kernel(1, 1).after({2}), kernel(2, 1).after({1})})});
  EXPECT_THAT(problem, HasSubstr("`kernel 1` (operation 0 of class `rank 0`) waits for `kernel 2`"));
  EXPECT_THAT(problem, HasSubstr("mlcommons/chakra 160 and 185"));
}

TEST_F(Chakra, UnmatchedMessagesAreRejected) {
  make({trace_of({send(1, 1, 3)}), trace_of({kernel(1, 1)})});
  EXPECT_EQ(problem, "t.0.et: node 1: unmatched message: the trace of its peer has no counterpart");
}

TEST_F(Chakra, CollectivesMissingInSomeTracesAreRejected) {
  make({trace_of({kernel(1, 1), collective(2, ChakraCollective::all_reduce, 4)}), trace_of({kernel(1, 1)})});
  EXPECT_EQ(problem, "t.0.et: node 2: this collective is in the traces of only 1 of 2 rank classes of its group");
}

TEST_F(Chakra, PeersOutsideTheJobAreRejected) {
  make({trace_of({send(1, 9, 3)})});
  EXPECT_EQ(problem, "t.0.et: node 1: its peer is rank 9 but the job has 1 ranks");
}

TEST_F(Chakra, GroupWithoutItsOwnRankIsRejected) {
  options.groups = {{"1", {1, 2}}};
  make({trace_of({collective(1, ChakraCollective::all_reduce, 4).attribute("pg_name", "1"sv)})});
  EXPECT_EQ(problem, "t.0.et: rank 0 uses process group `1` but is not a member of it");
}

TEST_F(Chakra, UndefinedGroupGivesAWarning) {
  const std::string trace = trace_of({collective(1, ChakraCollective::all_reduce, 4).attribute("pg_name", "5"sv)});
  play({trace, trace});
  ASSERT_EQ(workload.warnings.size(), 1U);
  EXPECT_THAT(workload.warnings[0], HasSubstr("process group `5` (2 ranks use it) is not defined"));
}

TEST_F(Chakra, MissingTracesGiveAWarning) {
  const auto trace = [](std::uint64_t time) {
    return trace_of({kernel(1, time), collective(2, ChakraCollective::all_reduce, 4).after({1})});
  };
  play({trace(2), trace(5)}, 16);
  EXPECT_EQ(run.total, us(9));
  EXPECT_EQ(timer.asked[0].group.ranks, 16U);
  ASSERT_EQ(workload.warnings.size(), 1U);
  EXPECT_THAT(workload.warnings[0], HasSubstr("2 of 16 ranks have a trace"));
}

TEST_F(Chakra, SingleTraceWithoutRankCountGivesAWarning) {
  play({trace_of({collective(1, ChakraCollective::all_reduce, 4)})});
  ASSERT_EQ(workload.warnings.size(), 1U);
  EXPECT_THAT(workload.warnings[0], HasSubstr("no number of ranks"));
}

TEST_F(Chakra, KernelsWithoutTimeAreCounted) {
  play({trace_of({kernel(1, 0), kernel(2, 3)})});
  ASSERT_EQ(workload.warnings.size(), 1U);
  EXPECT_THAT(workload.warnings[0], HasSubstr("1 kernels have neither a duration nor a size"));
}

}  // namespace
}  // namespace weft::workload
