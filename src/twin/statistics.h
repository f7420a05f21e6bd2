// Statistics of repeated runs: means with confidence intervals by Student's t distribution, and paired differences.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace weft::twin {

// Probability that a value of Student's t distribution with `degrees` of freedom is at most `t`; 0 degrees: infinitely
// many, the normal distribution.
[[nodiscard]] double student_t_probability(double t, std::size_t degrees);
// Its inverse, for a probability between 0 and 1.
[[nodiscard]] double student_t_quantile(double probability, std::size_t degrees);

// A mean of independent values. Without an interval if there are fewer than two.
struct Estimate {
  double mean = 0;
  std::optional<double> half;  // of the width of the interval that has the true mean with 95 % confidence
  std::size_t count = 0;

  [[nodiscard]] double low() const { return mean - half.value_or(0); }
  [[nodiscard]] double high() const { return mean + half.value_or(0); }
  // Whether the interval excludes 0.
  [[nodiscard]] bool differs_from_zero() const;
};
[[nodiscard]] Estimate estimate_mean(std::span<const double> values);
// Of the differences `values[i] - base[i]`, of runs with the same seed.
[[nodiscard]] Estimate estimate_difference(std::span<const double> values, std::span<const double> base);

}  // namespace weft::twin
