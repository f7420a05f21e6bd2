// Distributions for the twin, on base/random.h: durations are rounded to milliseconds, so that the last bit of a
// logarithm does not decide anything.
#pragma once

#include "base/quantity.h"
#include "base/random.h"

namespace weft::twin {

// Exponential with this mean; at most 1000 times the mean.
[[nodiscard]] Duration draw_exponential(RandomStream& random, Duration mean);
// Lognormal with this median and sigma.
[[nodiscard]] Duration draw_lognormal(RandomStream& random, Duration median, double sigma);
// A lognormal factor with mean 1.
[[nodiscard]] double draw_factor(RandomStream& random, double sigma);

}  // namespace weft::twin
