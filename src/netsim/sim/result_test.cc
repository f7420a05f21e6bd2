#include "netsim/sim/result.h"

#include <gtest/gtest.h>

namespace weft::netsim {
namespace {

std::vector<SimTime> descending(std::int64_t count) {
  std::vector<SimTime> out;
  for (std::int64_t i = count; i >= 1; --i) out.emplace_back(i);
  return out;
}

// Nearest rank: the smallest value that at least p % of the values do not exceed.
TEST(Percentiles, AreNearestRanks) {
  const Percentiles hundred = percentiles_of(descending(100));
  EXPECT_EQ(hundred.p50, SimTime(50));
  EXPECT_EQ(hundred.p99, SimTime(99));
  EXPECT_EQ(hundred.min, SimTime(1));
  EXPECT_EQ(hundred.max, SimTime(100));
  EXPECT_EQ(hundred.mean, SimTime(50)) << "50.5, rounded down";
  EXPECT_EQ(hundred.count, 100U);
  const Percentiles more = percentiles_of(descending(101));
  EXPECT_EQ(more.p50, SimTime(51));
  EXPECT_EQ(more.p99, SimTime(100));
  const Percentiles two = percentiles_of(descending(2));
  EXPECT_EQ(two.p50, SimTime(1));
  EXPECT_EQ(two.p99, SimTime(2));
}

TEST(Percentiles, OfOneAndOfNone) {
  const Percentiles one = percentiles_of({SimTime(7)});
  EXPECT_EQ(one.mean, SimTime(7));
  EXPECT_EQ(one.p50, SimTime(7));
  EXPECT_EQ(one.p99, SimTime(7));
  const Percentiles none = percentiles_of({});
  EXPECT_EQ(none.count, 0U);
  EXPECT_EQ(none.max, SimTime());
}

TEST(Percentiles, MeanOfLargeTimesDoesNotOverflow) {
  const SimTime large(INT64_MAX - 1);
  EXPECT_EQ(percentiles_of(std::vector<SimTime>(8, large)).mean, large);
}

}  // namespace
}  // namespace weft::netsim
