#include "twin/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace weft::twin {
namespace {

TEST(ParallelForTest, ConcurrentCallsCoverEveryNumberOnce) {
  for (const unsigned threads : {0U, 1U, 2U, 5U, 64U}) {
    std::vector<int> calls(1'000, 0);
    std::atomic<std::size_t> total{0};
    parallel_for(calls.size(), threads, [&](std::size_t i) {
      ++calls[i];
      ++total;
    });
    EXPECT_EQ(total, calls.size());
    for (const int each : calls) EXPECT_EQ(each, 1);
  }
}

TEST(ParallelForTest, NothingIsCalledForNone) {
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace weft::twin
