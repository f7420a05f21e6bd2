#include "workload/storage/reliability.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::workload {
namespace {

constexpr Duration seconds(double s) { return Duration(static_cast<std::int64_t>(s * 1e9)); }
constexpr Duration hours(double h) { return seconds(h * 3600); }
constexpr Duration days(double d) { return hours(d * 24); }
double in_seconds(Duration d) { return static_cast<double>(d.count()) / 1e9; }
double in_hours(Duration d) { return in_seconds(d) / 3600; }

// Llama 3 (arXiv 2407.21783, table 5): 419 unexpected interruptions, 466 in all, 54 days, 16,384 H100 in 2,048 servers.
TEST(Reliability, Llama3) {
  const double rate = failures_per_1000_node_days(419, 2048, days(54));
  EXPECT_NEAR(rate, 3.79, 0.005);
  EXPECT_NEAR(in_hours(mtbf_of(rate, 2048)), 3.09, 0.005);
  EXPECT_NEAR(in_hours(mtbf_of(failures_per_1000_node_days(466, 2048, days(54)), 2048)), 2.78, 0.005);
}

// Meta RSC (arXiv 2410.21680): 6.50 failures per 1,000 node-days yield the projections of its table.
TEST(Reliability, RscProjections) {
  EXPECT_NEAR(in_hours(mtbf_of(6.50, 16384 / 8)), 1.8, 0.05);
  EXPECT_NEAR(in_hours(mtbf_of(6.50, 131072 / 8)), 0.23, 0.006);
}

// At an MTBF of 3.09 h: 60 s lead to 19.3 min and 10.4 % lost, 30 s to 13.6 min and 7.3 %, 5 s to 5.6 min and 3.0 %.
TEST(Reliability, YoungAtLlama3Scale) {
  struct Row {
    double write_s, minutes, lost_percent;
  };
  for (const Row& row : {Row{60, 19.3, 10.4}, Row{30, 13.6, 7.3}, Row{5, 5.6, 3.0}}) {
    const Duration interval = young_interval(seconds(row.write_s), hours(3.09));
    EXPECT_NEAR(in_seconds(interval) / 60, row.minutes, 0.05);
    const Losses losses = losses_of(interval, seconds(row.write_s), Duration(0), hours(3.09));
    // The worked example counts write / interval; per cycle it is a little less.
    EXPECT_NEAR(100 * (1 - losses.effective), row.lost_percent, 0.3);
    EXPECT_DOUBLE_EQ(losses.restarts, 0);
  }
  // "> 90 % effective" needs about 30 s and a restart of a few minutes.
  EXPECT_GT(losses_of(young_interval(seconds(30), hours(3.09)), seconds(30), seconds(180), hours(3.09)).effective, 0.9);
  EXPECT_LT(losses_of(young_interval(seconds(60), hours(3.09)), seconds(60), seconds(180), hours(3.09)).effective, 0.9);
}

TEST(Reliability, YoungIntervalMinimizesLosses) {
  const Duration write = seconds(20);
  const Duration mtbf = hours(8);
  const Duration best = daly_interval(write, mtbf);
  EXPECT_EQ(in_seconds(best), std::round((std::sqrt(2.0 * 20 * 8 * 3600) - 20) * 1e9) / 1e9);
  const double at_best = losses_of(best, write, Duration(0), mtbf).effective;
  EXPECT_GT(at_best, losses_of(best * 2, write, Duration(0), mtbf).effective);
  EXPECT_GT(at_best, losses_of(best / 2, write, Duration(0), mtbf).effective);
}

TEST(Reliability, WritesLongerThanFailuresAllow) {
  EXPECT_EQ(daly_interval(hours(2), hours(3)), hours(3));
  EXPECT_EQ(losses_of(hours(1), hours(1), hours(1), hours(1)).effective, 0);
  EXPECT_EQ(mtbf_of(0, 100), Duration(INT64_MAX));
  EXPECT_EQ(failures_per_1000_node_days(3, 0, hours(1)), 0);
}

// Tc = Ts + sqrt(2 (Tf + Tr) Ts + Ts^2): with Ts = 100 s, Tf + Tr = 10,000 s that is 100 + sqrt(2,010,000).
TEST(Reliability, AvailabilityOptimal) {
  EXPECT_NEAR(in_seconds(availability_interval(seconds(100), seconds(9000), seconds(1000))), 1517.744, 0.001);
}

TEST(Reliability, AtLeastOneFailure) {
  EXPECT_NEAR(any_failure(0.01, 1), 0.01, 1e-12);
  EXPECT_NEAR(any_failure(0.001, 1000), 1 - std::pow(0.999, 1000), 1e-12);
  EXPECT_EQ(any_failure(1, 3), 1);
}

// BLOOM-176B: 40 s every 3 h are 0.37 %.
TEST(Reliability, BloomCheckpointOverhead) {
  EXPECT_NEAR(100 * losses_of(hours(3), seconds(40), Duration(0), hours(1e5)).checkpoints, 0.37, 0.005);
}

// MLPerf Storage: unet3d computes 0.323 s; at 90 % utilization a batch may take 0.359 s to read.
TEST(Reliability, AcceleratorUtilization) {
  EXPECT_NEAR(accelerator_utilization(seconds(0.323), seconds(0.323 / 0.9)), 0.9, 1e-6);
  EXPECT_EQ(accelerator_utilization(seconds(0.323), seconds(0.1)), 1);
}

}  // namespace
}  // namespace weft::workload
