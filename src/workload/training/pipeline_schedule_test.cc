#include "workload/training/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace weft::workload {
namespace {

struct Case {
  std::int64_t stages, chunks, micro_batches;
};
constexpr Case kCases[] = {{1, 1, 4}, {2, 1, 2},   {4, 1, 8},  {4, 1, 2},   {8, 1, 64}, {4, 2, 8},
                           {4, 5, 4}, {8, 12, 16}, {4, 5, 64}, {35, 3, 70}, {9, 7, 63}};

PipelineInput input_of(const Case& c, std::int64_t forward_ns, std::int64_t backward_ns) {
  PipelineInput input;
  input.stages = c.stages;
  input.chunks = c.chunks;
  input.micro_batches = c.micro_batches;
  const auto chunks = static_cast<std::size_t>(c.stages * c.chunks);
  input.forward.assign(chunks, SimTime(forward_ns * 1000));
  input.backward.assign(chunks, SimTime(backward_ns * 1000));
  return input;
}

// Bubble = (p - 1) / (v m) of the ideal time (Narayanan et al., arXiv 2104.04473, section 2.2).
TEST(PipelineSchedule, BubbleOfEqualChunks) {
  for (const Case& c : kCases) {
    if (c.micro_batches < c.stages) continue;
    const PipelineTimes times = play_pipeline(input_of(c, 100, 200));
    const std::int64_t ideal = 300'000 * c.chunks * c.micro_batches;
    EXPECT_EQ(times.end.count(), ideal + (c.stages - 1) * 300'000)
        << c.stages << " stages, " << c.chunks << " chunks, " << c.micro_batches << " micro-batches";
  }
}

using Key = std::tuple<std::size_t, std::uint32_t, bool>;  // global chunk, micro-batch, backward

std::map<Key, Pass> passes_of(const PipelineInput& input, const PipelineTimes& times) {
  std::map<Key, Pass> passes;
  for (std::size_t stage = 0; stage < times.stages.size(); ++stage) {
    for (const Pass& pass : times.stages[stage]) {
      const std::size_t chunk = pass.chunk * static_cast<std::size_t>(input.stages) + stage;
      EXPECT_TRUE(passes.emplace(Key{chunk, pass.micro_batch, pass.backward}, pass).second) << "a pass is done twice";
    }
  }
  return passes;
}

TEST(PipelineSchedule, EveryPassOnceAndInOrder) {
  for (const Case& c : kCases) {
    PipelineInput input = input_of(c, 130, 270);
    input.forward.back() = SimTime(190'000);  // the head
    input.message = SimTime(7'000);
    const PipelineTimes times = play_pipeline(input);
    const std::map<Key, Pass> passes = passes_of(input, times);
    const auto chunks = static_cast<std::size_t>(c.stages * c.chunks);
    ASSERT_EQ(passes.size(), 2 * chunks * static_cast<std::size_t>(c.micro_batches));
    const SimTime message = c.stages > 1 ? input.message : SimTime(0);
    for (const auto& [key, pass] : passes) {
      const auto& [chunk, micro_batch, backward] = key;
      EXPECT_EQ(pass.end - pass.start, backward ? input.backward[chunk] : input.forward[chunk]);
      if (!backward && chunk > 0) {
        EXPECT_GE(pass.start, passes.at({chunk - 1, micro_batch, false}).end + message);
      } else if (backward && chunk + 1 < chunks) {
        EXPECT_GE(pass.start, passes.at({chunk + 1, micro_batch, true}).end + message);
      } else if (backward) {
        EXPECT_GE(pass.start, passes.at({chunk, micro_batch, false}).end);
      }
      EXPECT_LE(backward ? pass.end : SimTime(0), times.gradients_done[chunk]);
      EXPECT_GE(pass.start, times.first_use[chunk]);
    }
  }
}

TEST(PipelineSchedule, AStageDoesOneThingAtATime) {
  for (const Case& c : kCases) {
    PipelineInput input = input_of(c, 100, 210);
    input.message = SimTime(3'000);
    for (const bool overlapped : {true, false}) {
      input.overlapped = overlapped;
      const PipelineTimes times = play_pipeline(input);
      for (const std::vector<Pass>& stage : times.stages) {
        for (std::size_t i = 1; i < stage.size(); ++i) EXPECT_GE(stage[i].start, stage[i - 1].end);
      }
    }
  }
}

TEST(PipelineSchedule, BlockingMessagesCostMore) {
  PipelineInput input = input_of({8, 1, 32}, 100, 200);
  const SimTime without = play_pipeline(input).end;
  input.message = SimTime(10'000);
  input.overlapped = true;
  const SimTime beside = play_pipeline(input).end;
  input.overlapped = false;
  const SimTime waited = play_pipeline(input).end;
  EXPECT_GT(beside, without);
  EXPECT_GT(waited, beside);
}

}  // namespace
}  // namespace weft::workload
