#include "twin/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace weft::twin {
namespace {

// Critical values of the t distribution as tables print them (such as NIST/SEMATECH e-Handbook, 1.3.6.7.2).
TEST(Statistics, QuantilesAreThoseOfPublishedTables) {
  struct Row {
    std::size_t degrees;
    double p90, p95, p975, p99, p999;
  };
  constexpr std::array<Row, 9> rows = {
      Row{1, 3.078, 6.314, 12.706, 31.821, 318.309}, Row{2, 1.886, 2.920, 4.303, 6.965, 22.327},
      Row{3, 1.638, 2.353, 3.182, 4.541, 10.215},    Row{4, 1.533, 2.132, 2.776, 3.747, 7.173},
      Row{5, 1.476, 2.015, 2.571, 3.365, 5.893},     Row{9, 1.383, 1.833, 2.262, 2.821, 4.297},
      Row{29, 1.311, 1.699, 2.045, 2.462, 3.396},    Row{100, 1.290, 1.660, 1.984, 2.364, 3.174},
      Row{0, 1.282, 1.645, 1.960, 2.326, 3.090}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.degrees);
    EXPECT_NEAR(student_t_quantile(0.90, row.degrees), row.p90, 0.0006);
    EXPECT_NEAR(student_t_quantile(0.95, row.degrees), row.p95, 0.0006);
    EXPECT_NEAR(student_t_quantile(0.975, row.degrees), row.p975, 0.0006);
    EXPECT_NEAR(student_t_quantile(0.99, row.degrees), row.p99, 0.0006);
    EXPECT_NEAR(student_t_quantile(0.999, row.degrees), row.p999, 0.0006);
    EXPECT_NEAR(student_t_quantile(0.025, row.degrees), -row.p975, 0.0006);
    EXPECT_NEAR(student_t_quantile(0.5, row.degrees), 0, 1e-9);
  }
}

// One degree of freedom is the Cauchy distribution; with two, the distribution function is algebraic.
TEST(Statistics, ProbabilitiesOfOneAndTwoDegreesAreExact) {
  for (const double t : {-30.0, -1.0, 0.0, 0.3, 1.0, 2.5, 100.0}) {
    EXPECT_NEAR(student_t_probability(t, 1), 0.5 + std::atan(t) / std::acos(-1.0), 1e-14) << t;
    EXPECT_NEAR(student_t_probability(t, 2), 0.5 + t / (2 * std::sqrt(2 + t * t)), 1e-14) << t;
  }
}

TEST(Statistics, ManyDegreesApproachTheNormalDistribution) {
  EXPECT_NEAR(student_t_quantile(0.975, 100'000), student_t_quantile(0.975, 0), 1e-4);
}

// The mean of 1, 2, 3, 4, 5 is 3, its standard error sqrt(2.5 / 5), and t for 4 degrees 2.776.
TEST(Statistics, MeanHasAnInterval) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const Estimate estimate = estimate_mean(values);
  EXPECT_DOUBLE_EQ(estimate.mean, 3);
  ASSERT_TRUE(estimate.half.has_value());
  EXPECT_NEAR(*estimate.half, 2.776 * std::sqrt(0.5), 0.001);
  EXPECT_TRUE(estimate.differs_from_zero());
  EXPECT_FALSE(estimate_mean(std::vector<double>{-1, 0, 1}).differs_from_zero());
}

TEST(Statistics, OneValueHasNoInterval) {
  const Estimate one = estimate_mean(std::vector<double>{7});
  EXPECT_DOUBLE_EQ(one.mean, 7);
  EXPECT_FALSE(one.half.has_value());
  EXPECT_FALSE(one.differs_from_zero());
  EXPECT_EQ(estimate_mean({}).count, 0U);
}

// Values that vary much, with a difference that does not: pairs find it, independent means would not.
TEST(Statistics, PairedDifferencesIgnoreWhatRunsHaveInCommon) {
  const std::vector<double> base = {10, 50, 20, 90};
  const std::vector<double> values = {11, 51.2, 20.9, 91};
  const Estimate difference = estimate_difference(values, base);
  EXPECT_NEAR(difference.mean, 1.025, 1e-12);
  EXPECT_TRUE(difference.differs_from_zero());
  EXPECT_FALSE(estimate_difference(base, base).differs_from_zero());
}

}  // namespace
}  // namespace weft::twin
