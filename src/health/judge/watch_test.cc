#include "health/judge/watch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::health {
namespace {

using Change = Watch::Change;

sched::Moment at(std::int64_t second) { return sched::Moment(0) + sched::seconds(1000 + second); }

TEST(Watch, HoldsAfterSamplesInARowAndEndsTheSameWay) {
  Rule rule;
  rule.kind = ConditionKind::mask;
  rule.mask = 0x80;
  rule.samples = 3;
  Watch watch(rule);
  EXPECT_EQ(watch.add(0x80, at(0)), Change::none);
  EXPECT_EQ(watch.add(0x84, at(15)), Change::none);
  EXPECT_EQ(watch.add(0x04, at(30)), Change::none);  // interrupted
  EXPECT_EQ(watch.add(0x80, at(45)), Change::none);
  EXPECT_EQ(watch.add(0x80, at(60)), Change::none);
  EXPECT_EQ(watch.add(0x80, at(75)), Change::begins);
  EXPECT_EQ(watch.add(0, at(90)), Change::none);
  EXPECT_EQ(watch.add(0, at(105)), Change::none);
  EXPECT_EQ(watch.add(0, at(120)), Change::ends);
}

TEST(Watch, SampleThatSaysNothingChangesNothing) {
  Rule rule;
  rule.kind = ConditionKind::above;
  rule.limit = 10;
  Watch watch(rule);
  EXPECT_EQ(watch.add(std::nan(""), at(0)), Change::none);
  EXPECT_EQ(watch.add(11, at(15)), Change::begins);
  EXPECT_EQ(watch.add(1, at(15)), Change::none);  // not newer
  EXPECT_EQ(watch.add(std::nan(""), at(30)), Change::none);
  EXPECT_TRUE(watch.holds());
  EXPECT_EQ(watch.add(10, at(45)), Change::ends);
}

TEST(Watch, MaskOfAbsurdValues) {
  Rule rule;
  rule.kind = ConditionKind::mask;
  rule.mask = 1;
  Watch watch(rule);
  EXPECT_EQ(watch.add(-1, at(0)), Change::none);
  EXPECT_EQ(watch.add(1e300, at(1)), Change::none);
  EXPECT_EQ(watch.add(INFINITY, at(2)), Change::none);
  EXPECT_EQ(watch.add(3, at(3)), Change::begins);
}

TEST(Watch, AnyIncreaseAndResetOfTheCounter) {
  Rule rule;
  rule.kind = ConditionKind::rise;
  Watch watch(rule);
  EXPECT_EQ(watch.add(7, at(0)), Change::none);  // what was before the first sample is not known
  EXPECT_EQ(watch.add(7, at(15)), Change::none);
  EXPECT_EQ(watch.add(8, at(30)), Change::begins);
  EXPECT_EQ(watch.add(8, at(45)), Change::ends);
  EXPECT_EQ(watch.add(2, at(60)), Change::none);  // reset
  EXPECT_EQ(watch.add(3, at(75)), Change::begins);
}

// 100 per second at one sample per 15 s: 1,500 between two samples are not more, 1,501 are.
TEST(Watch, RateOverLongerIntervals) {
  Rule rule;
  rule.kind = ConditionKind::rise;
  rule.limit = 100;
  rule.per = sched::seconds(1);
  Watch watch(rule);
  watch.add(0, at(0));
  EXPECT_EQ(watch.add(1500, at(15)), Change::none);
  EXPECT_EQ(watch.add(3001, at(30)), Change::begins);
}

// More than 120 within an hour, wherever the hour begins.
TEST(Watch, SlidingWindow) {
  Rule rule;
  rule.kind = ConditionKind::rise;
  rule.limit = 120;
  rule.per = sched::seconds(3600);
  Watch watch(rule);
  watch.add(0, at(0));
  EXPECT_EQ(watch.add(60, at(3500)), Change::none);
  EXPECT_EQ(watch.add(120, at(3600)), Change::none);
  EXPECT_EQ(watch.add(121, at(3700)), Change::begins);
  EXPECT_EQ(watch.add(121, at(7000)), Change::none);
  EXPECT_EQ(watch.add(121, at(7150)), Change::ends);  // the first 60 are older than an hour
}

TEST(Watch, SteadyIncreaseUnderTheLimitNeverHolds) {
  Rule rule;
  rule.kind = ConditionKind::rise;
  rule.limit = 250;
  rule.per = sched::seconds(3600);
  Watch watch(rule);
  for (int i = 0; i < 20'000; ++i) EXPECT_EQ(watch.add(i, at(i * 15)), Change::none) << i;  // 240 per hour
}

}  // namespace
}  // namespace weft::health
