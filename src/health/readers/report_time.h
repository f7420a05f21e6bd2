// Times of day in reports, as moments.
#pragma once

#include <cstdint>
#include <limits>

#include "sched/machine/moment.h"

namespace weft::health {

// Milliseconds since 1970; Moment(), which is no time, for one that does not fit (after the year 2262).
[[nodiscard]] constexpr sched::Moment moment_of_ms(std::int64_t ms) {
  constexpr std::int64_t kNanoseconds = 1'000'000;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / kNanoseconds;
  return ms < 0 || ms > kMax ? sched::Moment() : sched::Moment(ms * kNanoseconds);
}

}  // namespace weft::health
