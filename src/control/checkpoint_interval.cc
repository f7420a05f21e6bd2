#include "control/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

namespace weft::control {

Duration checkpoint_interval(Duration write_time, double interruptions, std::size_t nodes) {
  constexpr double kDay = 86'400;
  constexpr double kLongest = 7 * kDay;
  const double write = static_cast<double>(write_time.count()) * 1e-9;
  const double rate = interruptions / 1000 / kDay * static_cast<double>(std::max<std::size_t>(1, nodes));  // per second
  double interval = kLongest;
  if (rate > 0) {
    const double mean = 1 / rate;  // time between interruptions of the job
    const double ratio = write / (2 * mean);
    interval = write < 2 * mean ? std::sqrt(2 * write * mean) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - write : mean;
  }
  return Duration(static_cast<std::int64_t>(std::clamp(interval, 1.0, kLongest)) * 1'000'000'000);
}

}  // namespace weft::control
