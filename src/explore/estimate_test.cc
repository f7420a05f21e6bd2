#include "explore/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::explore {
namespace {

twin::TwinJob job_of(std::int64_t days, std::int64_t stall_seconds) {
  twin::TwinJob job;
  job.work = sched::seconds(days * 86'400);
  job.launch = sched::seconds(60);
  job.load = sched::seconds(60);
  job.restore = sched::seconds(180);
  job.stall = job.write = sched::seconds(stall_seconds);
  return job;
}

// Cumulative Poisson probabilities of mean 4, from published tables: 0.4335 at 3, 0.6288 at 4, 0.7851 at 5, 0.8893 at
// 6, 0.9489 at 7, 0.9786 at 8, 0.9919 at 9, 0.9972 at 10, 0.9991 at 11.
TEST(EstimateTest, SparesAreQuantilesOfThePoissonDistribution) {
  EXPECT_EQ(spare_counts(4), (std::vector<std::int64_t>{4, 6, 8, 9, 11}));
  EXPECT_EQ(spare_counts(0), (std::vector<std::int64_t>{0}));
  // exp(-0.1) = 0.9048; with one: 0.9953; with two: 0.9998.
  EXPECT_EQ(spare_counts(0.1), (std::vector<std::int64_t>{0, 1, 2}));
}

// Llama 3: an interruption each 3.09 h and 60 s per checkpoint give Young's 19.3 min, of which Daly subtracts the time
// of the checkpoint.
TEST(EstimateTest, FirstIntervalIsDalys) {
  const Duration interval = first_interval(job_of(10, 60), 24 / 3.09);
  EXPECT_NEAR(static_cast<double>(interval.count()) / 60e9, 18.3, 0.5);  // rounded to minutes
}

TEST(EstimateTest, CheckpointsDoNotFollowWithoutAPause) {
  twin::TwinJob job = job_of(10, 1);
  job.write = sched::seconds(600);  // in the background
  EXPECT_EQ(first_interval(job, 24 / 3.09), sched::seconds(2400));
}

TEST(EstimateTest, WithoutFailuresOnlyCheckpointsAndTheStartAreAdded) {
  const twin::TwinJob job = job_of(10, 30);
  const double days = optimistic_days(job, sched::seconds(3000), 0);
  EXPECT_NEAR(days, 10 * 1.01 + 120.0 / 86'400, 1e-9);
}

TEST(EstimateTest, FailuresCostARestartAndHalfAnInterval) {
  const twin::TwinJob job = job_of(10, 0);
  // 8 per day at 300 s + 900 s each: 9,600 s of a day.
  const double days = optimistic_days(job, sched::seconds(1800), 8);
  EXPECT_NEAR(days, (10 + 120.0 / 86'400) / (1 - 9'600.0 / 86'400), 1e-9);
  EXPECT_TRUE(std::isinf(optimistic_days(job, sched::seconds(1800), 80)));
}

TEST(EstimateTest, RatesGrowWithNodesAndScale) {
  const twin::FaultModel faults = twin::default_faults();
  EXPECT_NEAR(interruptions_per_day(faults, 1, 2'048), 3.79 * 2.048, 0.02);  // Llama 3: 419 in 54 days
  EXPECT_NEAR(mean_nodes_out(faults, 2, 500), mean_nodes_out(faults, 1, 1'000), 1e-9);
}

}  // namespace
}  // namespace weft::explore
