#include "workload/life/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "workload/result/life_sample.h"

namespace weft::workload {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The sample with its tensor collectives hidden: 146 of 216 ms of them, and 8 ms more compute.
LifeResult overlapped() {
  LifeResult life = sample::life();
  life.parts.tensor = sample::ms(70);
  life.parts.compute = sample::ms(939);
  life.parts.step = sample::ms(1'490 - 146 + 8);
  life.step = sample::ms(1'460 - 146 + 8);
  life.tokens_per_second = 512.0 * 8192 / 1.322;
  life.communication[0].exposed = sample::ms(20);
  life.communication[0].algorithm = "NVLS LL128";
  return life;
}

TEST(LifeCompare, ExplainsWhyTheFasterRunIsFaster) {
  const std::string why = why_faster(sample::life(), overlapped());
  // 1.460 / 1.322 = 1.104; 1490 - 1352 = 138 ms
  EXPECT_THAT(why, HasSubstr("B is 1.10 times as fast as A"));
  EXPECT_THAT(why, HasSubstr("a step takes 1.352 s instead of 1.49 s"));
  EXPECT_THAT(why, HasSubstr("Of the 138 ms saved: 146 ms tensor communication (70 ms instead of 216 ms)."));
  EXPECT_THAT(why, HasSubstr("Compute costs 8 ms more."));
  EXPECT_THAT(why, HasSubstr("Most of it: tensor all-gather (NVLS LL128 instead of NVLS Simple)."));
}

TEST(LifeCompare, HandlesSwappedEqualAndEmptyRuns) {
  EXPECT_THAT(why_faster(overlapped(), sample::life()), HasSubstr("A is 1.10 times as fast as B"));
  EXPECT_THAT(why_faster(sample::life(), sample::life()), HasSubstr("equally fast"));
  EXPECT_THAT(why_faster(sample::life(), LifeResult()), HasSubstr("no throughput"));
}

TEST(LifeCompare, DifferentBatchesAreComparedByTokens) {
  LifeResult large = sample::life();
  large.global_batch *= 2;
  large.gpus *= 2;
  for (SimTime* time : {&large.parts.step, &large.step}) *time = *time * 5 / 4;
  large.parts.compute = large.parts.compute + sample::ms(1'490) / 4;
  large.tokens_per_second = sample::life().tokens_per_second * 1.6;
  const std::string why = why_faster(sample::life(), large);
  // 512 x 8192 tokens = 4.194 million in 1.49 s are 355.2 ms per million; twice the tokens in 5/4 of the time 222 ms.
  EXPECT_THAT(why, HasSubstr("a million tokens takes 222 ms instead of 355.2 ms"));
  EXPECT_THAT(why, HasSubstr("It has 512 GPUs instead of 256; the throughput per GPU is 0.80 times as high."));
}

TEST(LifeCompare, DocumentShowsBothSidesAndDifferences) {
  LifeResult b = overlapped();
  b.assumptions.pop_back();
  b.assumptions.emplace_back("collectives share 16 of 132 multiprocessors");
  const std::string text = write(compare_document(sample::life(), b), {});
  EXPECT_THAT(text, HasSubstr("-146 ms"));
  EXPECT_THAT(text, HasSubstr("+8 ms"));
  EXPECT_LT(text.find("Tensor communication"), text.find("Recomputation"));
  EXPECT_THAT(text, HasSubstr("NVLS LL128"));
  EXPECT_THAT(text, HasSubstr("assumed for B only: collectives share"));
  EXPECT_THAT(text, HasSubstr("assumed for A only: the registry"));
  EXPECT_THAT(text, Not(HasSubstr("Networks whose use differs")));
  const std::string json = write(compare_document(sample::life(), b), {.format = OutputFormat::json});
  EXPECT_THAT(json, HasSubstr("\"difference_s\": -0.146"));
  EXPECT_FALSE(write(compare_document(LifeResult(), LifeResult()), {}).empty());
}

}  // namespace
}  // namespace weft::workload
