#include "workload/import/simai_workload.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_places.h"
#include "workload/graph/graph_run.h"

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr SimTime ns(std::int64_t n) { return netsim::nanoseconds(n); }

// One nanosecond per byte.
class ByteTimer : public CommunicationTimer {
 public:
  SimTime collective(netsim::Collective /*operation*/, Bytes bytes, const OpGroup& group) override {
    groups.push_back(group);
    return ns(bytes.count());
  }
  SimTime message(Bytes bytes, const OpGroup& /*group*/) override { return ns(bytes.count()); }
  std::vector<OpGroup> groups;
};

struct ReadText {
  std::optional<SimaiWorkload> value;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

ReadText read(std::string text, std::uint32_t gpus = 0) {
  Sources sources;
  Diagnostics diagnostics;
  ReadText out;
  SimaiOptions options;
  options.gpus = gpus;
  out.value = read_simai_workload(sources, sources.add("w.txt", std::move(text)), options, diagnostics);
  for (const Diagnostic& d : diagnostics.sorted()) {
    auto& list = d.severity == Severity::error ? out.errors : out.warnings;
    list.push_back(fmt::format("{}:{} {}", d.place.line, d.place.column, d.message));
  }
  return out;
}

SimTime total(const ReadText& text) {
  EXPECT_TRUE(text.value) << ::testing::PrintToString(text.errors);
  if (!text.value) return {};
  ByteTimer timer;
  const Result<GraphRun> run = run_graph(text.value->graph, timer, StreamOrder::program, text.value->pipeline);
  EXPECT_TRUE(run.ok());
  return run.ok() ? run->total : SimTime();
}

const std::string kHeader =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 1 vpp: 1 ga: 1 all_gpus: 64 "
    "checkpoints: 0 checkpoint_initiates: 0";

// Forward 10 + 3 and 20, backward 21 + 5, 22 and 11, 12: communication of the passes blocks compute, that of weight
// gradients (100 after the second row's, 7 after the first's) runs in the background; updates 1 and 2 wait for it.
TEST(ReadSimai, PassesInOrder) {
  const ReadText text = read(kHeader +
                             "\n2\n"
                             "a -1 10 ALLREDUCE 3 11 NONE 0 12 ALLREDUCE 7 1\n"
                             "b -1 20 NONE 0 21 ALLGATHER 5 22 REDUCESCATTER 100 2\n");
  const std::int64_t forward = 10 + 3 + 20;
  const std::int64_t second = forward + 21 + 5 + 22;
  // The second row's gradients end at second + 100, the first's 7 later; then both updates.
  EXPECT_EQ(total(text), ns(second + 100 + 7 + 1));
  EXPECT_THAT(text.warnings, IsEmpty());
  ASSERT_TRUE(text.value);
  EXPECT_EQ(text.value->rows, 2U);
  EXPECT_EQ(text.value->tensor, 2U);
  EXPECT_EQ(text.value->data, 32U);
}

TEST(ReadSimai, SuffixSelectsTheGroup) {
  const ReadText text = read(kHeader +
                             "\n1\n"
                             "a -1 1 ALLTOALL_EP 8 1 ALLREDUCE 8 1 ALLGATHER_DP_EP 8 1\n");
  ASSERT_TRUE(text.value);
  ByteTimer timer;
  ASSERT_TRUE(execute(text.value->graph, timer, StreamOrder::program).ok());
  ASSERT_EQ(timer.groups.size(), 3U);
  const auto check = [&](std::size_t i, const char* name, std::uint32_t ranks, std::uint32_t near,
                         std::uint32_t stride) {
    EXPECT_EQ(timer.groups[i].name, name);
    EXPECT_EQ(timer.groups[i].ranks, ranks);
    EXPECT_EQ(timer.groups[i].node_ranks, near);
    EXPECT_EQ(timer.groups[i].stride, stride);
  };
  check(0, "expert", 4, 4, 2);  // ranks 0, 2, 4, 6 of a server of 8
  check(1, "tensor", 2, 2, 1);
  check(2, "expert data", 8, 1, 8);  // one rank per server
}

TEST(ReadSimai, RecomputesFromTheCheckpoint) {
  const std::string rows =
      "\n3\n"
      "a -1 10 NONE 0 0 NONE 0 0 NONE 0 0\n"
      "b -1 20 NONE 0 0 NONE 0 0 NONE 0 0\n"
      "c -1 40 NONE 0 0 NONE 0 0 NONE 0 0\n";
  const std::string header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 8 ";
  EXPECT_EQ(total(read(header + "checkpoints: 1 0 checkpoint_initiates: 1 2" + rows)), ns(70 + 30));
  EXPECT_EQ(total(read(header + "checkpoints: 2 0 1 checkpoint_initiates: 1 2" + rows)), ns(70 + 20));
  EXPECT_THAT(read(header + "checkpoints: 1 2 checkpoint_initiates: 1 1" + rows).errors,
              ElementsAre("1:1 recomputation begins at row 1, which has no checkpoint before it"));
  EXPECT_THAT(read(header + "checkpoints: 1 0 checkpoint_initiates: 1 3" + rows).errors,
              ElementsAre("1:1 recomputation begins at row 3, which does not exist"));
}

// (4 - 1) / (2 x 3) of 60 ns, and six messages of 5 ns.
TEST(ReadSimai, PipelineIsFilledAndDrained) {
  const ReadText text = read(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 4 vpp: 3 ga: 2 all_gpus: 8 "
      "checkpoints: 0 checkpoint_initiates: 0 pp_comm: 5.0\n1\n"
      "a -1 10 NONE 0 20 NONE 0 30 NONE 0 0\n");
  EXPECT_EQ(total(text), ns(60 + 30 + 30));
}

TEST(ReadSimai, OlderFilesAndMicrobenchmarks) {
  const std::string rows =
      "\n2\nmicro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t50\t1\nmicro_test\t-"
      "1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t70\t1\n";
  const ReadText micro = read("MICRO" + rows, 16);
  EXPECT_EQ(total(micro), ns(1 + 50 + 1 + 70));
  ASSERT_TRUE(micro.value);
  EXPECT_EQ(micro.value->data, 16U);
  EXPECT_THAT(read("MICRO" + rows).errors, ElementsAre("1:1 the file has no `all_gpus:`; set the number of GPUs"));
  // With data parallelism, weight gradients are computed before input gradients and sent first.
  EXPECT_EQ(total(read("DATA\n1\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 15 1\n", 8)), ns(10 + 30 + 20 + 1));
}

TEST(ReadSimai, ReadsTheExamples) {
  for (const char* name : {"dense_tp4_dp8.txt", "moe_ep8_pp4.txt"}) {
    const Result<std::string> text = read_file(source_dir() + "/examples/workload/" + name);
    ASSERT_TRUE(text.ok());
    EXPECT_TRUE(looks_like_simai(*text));
    const ReadText workload = read(*text);
    EXPECT_GT(total(workload), netsim::microseconds(1000)) << name;
    EXPECT_THAT(workload.warnings, IsEmpty());
  }
}

TEST(ReadSimai, EveryErrorHasItsPlace) {
  const auto errors = [](const std::string& text) { return read(text).errors; };
  const std::string row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
  EXPECT_THAT(errors(""), ElementsAre("1:1 the file has no workload"));
  EXPECT_THAT(errors("HYBRID_DLRM\n"), ElementsAre("1:1 expected a parallelism, not `HYBRID_DLRM`"));
  EXPECT_THAT(errors(kHeader), ElementsAre(fmt::format("1:{} the number of layers is missing", kHeader.size() + 1)));
  EXPECT_THAT(errors(kHeader + "\n2\n" + row), ElementsAre("2:1 the file announces 2 layers but has 1"));
  EXPECT_THAT(errors(kHeader + "\n99999999999\n"), ElementsAre(HasSubstr("2:1 the number of layers is")));
  EXPECT_THAT(errors(kHeader + "\n1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n"),
              ElementsAre("3:6 expected the forward time in ns, a decimal number of at least 0, not `x`"));
  EXPECT_THAT(errors(kHeader + "\n1\na -1 1 ALLSHUFFLE 0 1 NONE 0 1 NONE 0 1\n"),
              ElementsAre("3:8 expected the forward communication, not `ALLSHUFFLE`"));
  EXPECT_THAT(errors(kHeader + "\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n"),
              ElementsAre(HasSubstr("3:32 expected the update time in ns")));
  EXPECT_THAT(errors(kHeader + "\n1\na -1 1 NONE 1e30 1 NONE 0 1 NONE 0 1\n"),
              ElementsAre("3:13 the forward bytes is `1e30`, which is too large"));
  EXPECT_THAT(errors(kHeader + "\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 1\n"),
              ElementsAre("3:35 expected the line to end here, not `1`"));
  EXPECT_THAT(errors("HYBRID_TRANSFORMER model_parallel_NPU_group: 3 all_gpus: 8\n1\n" + row),
              ElementsAre("1:1 8 GPUs are not a multiple of tensor 3 x pipeline 1"));
  EXPECT_THAT(errors("HYBRID_TRANSFORMER ep: 3 all_gpus: 8\n1\n" + row),
              ElementsAre("1:1 8 data-parallel ranks are not a multiple of the expert group size 3"));
  EXPECT_THAT(errors("HYBRID_TRANSFORMER pp: 0 all_gpus: 8\n1\n" + row), ElementsAre("1:24 `pp` must be at least 1"));
  EXPECT_THAT(errors("HYBRID_TRANSFORMER speed: 8\n1\n" + row), ElementsAre("1:20 unknown key `speed:`"));
  EXPECT_THAT(read(kHeader + "\n1\n" + row + row).warnings,
              ElementsAre("4:1 ignored: the file announces only 1 layers"));
}

TEST(ReadSimai, DetectsSimaiFiles) {
  EXPECT_TRUE(looks_like_simai("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8"));
  EXPECT_TRUE(looks_like_simai("MICRO\n2\n"));
  EXPECT_FALSE(looks_like_simai("{\"workload_graph\": []}"));
  EXPECT_FALSE(looks_like_simai(std::string("\x07\x0a\x05", 3)));
  EXPECT_FALSE(looks_like_simai(""));
}

}  // namespace
}  // namespace weft::workload
