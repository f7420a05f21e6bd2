#include "twin/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "base/check.h"

namespace weft::twin {
namespace {

constexpr double kConfidence = 0.95;

double normal_probability(double t) { return 0.5 * std::erfc(-t / std::numbers::sqrt2); }

// Abramowitz and Stegun, 26.7.3 and 26.7.4: the probability that |T| is at most t, for t >= 0, as a finite sum.
double central_probability(double t, std::size_t degrees) {
  const double angle = std::atan2(t, std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (std::size_t k = odd ? 3 : 2; k + 2 <= degrees; k += 2) {
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  sum *= std::sin(angle);
  return odd ? 2 / std::numbers::pi * (angle + sum) : sum;
}

}  // namespace

double student_t_probability(double t, std::size_t degrees) {
  if (degrees == 0) return normal_probability(t);
  const double half = central_probability(std::abs(t), degrees) / 2;
  return t < 0 ? 0.5 - half : 0.5 + half;
}

double student_t_quantile(double probability, std::size_t degrees) {
  CHECK(probability > 0 && probability < 1, "a probability outside of (0, 1)");
  if (probability < 0.5) return -student_t_quantile(1 - probability, degrees);
  double high = 1;
  while (student_t_probability(high, degrees) < probability && high < 1e12) high *= 2;
  double low = 0;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (student_t_probability(middle, degrees) < probability ? low : high) = middle;
  }
  return high;
}

bool Estimate::differs_from_zero() const { return half.has_value() && std::abs(mean) > *half; }

Estimate estimate_mean(std::span<const double> values) {
  Estimate estimate;
  estimate.count = values.size();
  if (values.empty()) return estimate;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) estimate.mean += value;
  estimate.mean /= count;
  if (values.size() < 2) return estimate;
  double squares = 0;
  for (const double value : values) squares += (value - estimate.mean) * (value - estimate.mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  estimate.half = student_t_quantile(0.5 + kConfidence / 2, values.size() - 1) * error;
  return estimate;
}

Estimate estimate_difference(std::span<const double> values, std::span<const double> base) {
  CHECK(values.size() == base.size(), "paired values of different lengths");
  std::vector<double> differences(values.size());
  std::transform(values.begin(), values.end(), base.begin(), differences.begin(), std::minus<>());
  return estimate_mean(differences);
}

}  // namespace weft::twin
