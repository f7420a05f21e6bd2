#include "twin/draws.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::twin {
namespace {

Duration in_milliseconds(double nanoseconds) {
  constexpr double kLongest = 1e18;  // 31 years
  return milliseconds(std::llround(std::min(nanoseconds, kLongest) / 1e6));
}

// Box and Muller, 1958.
double draw_normal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

}  // namespace

Duration draw_exponential(RandomStream& random, Duration mean) {
  return in_milliseconds(std::min(-std::log1p(-random.uniform()), 1000.0) * static_cast<double>(mean.count()));
}

Duration draw_lognormal(RandomStream& random, Duration median, double sigma) {
  return in_milliseconds(std::exp(sigma * draw_normal(random)) * static_cast<double>(median.count()));
}

double draw_factor(RandomStream& random, double sigma) {
  return std::exp(sigma * draw_normal(random) - sigma * sigma / 2);
}

}  // namespace weft::twin
