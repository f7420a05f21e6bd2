#include "oob/bmc/fan_out.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

namespace weft::oob {
namespace {

TEST(FanOutConcurrent, EveryTaskRunsOnceAndAtMostWidthInParallel) {
  SystemClock clock;
  std::vector<std::atomic<int>> runs(500);
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  const FanOutResult result = fan_out(500, 16, clock, [&](std::uint32_t i) {
    const int in = ++now;
    for (int seen = most.load(); in > seen && !most.compare_exchange_weak(seen, in);) {
    }
    (void)clock.sleep(Duration(100'000));
    ++runs[i];
    --now;
  });
  EXPECT_EQ(result.finished, 500U);
  for (const std::atomic<int>& run : runs) EXPECT_EQ(run.load(), 1);
  EXPECT_LE(most.load(), 16);
  EXPECT_GT(most.load(), 1);
}

TEST(FanOutConcurrent, NoTaskStartsAfterAStop) {
  SystemClock clock;
  std::atomic<int> started{0};
  const FanOutResult result = fan_out(1'000'000, 4, clock, [&](std::uint32_t) {
    if (++started == 100) clock.stop();
  });
  EXPECT_LT(result.finished, 200U);
  EXPECT_EQ(result.finished, static_cast<std::uint32_t>(started.load()));
}

TEST(FanOutConcurrent, ProgressCountsUp) {
  SystemClock clock;
  std::vector<std::uint32_t> seen;
  (void)fan_out(
      100, 8, clock, [](std::uint32_t) {}, [&](std::uint32_t done) { seen.push_back(done); });
  ASSERT_EQ(seen.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(seen[i], i + 1);
}

TEST(FanOut, NothingToDo) {
  ManualClock clock;
  const FanOutResult result = fan_out(0, 8, clock, [](std::uint32_t) { FAIL(); });
  EXPECT_EQ(result.finished, 0U);
}

}  // namespace
}  // namespace weft::oob
