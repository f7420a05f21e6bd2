// A point in scheduler time: nanoseconds since an origin chosen by the caller (the start of a trace, the epoch). The
// scheduler never reads a clock; the caller passes every Moment.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/quantity.h"

namespace weft::sched {

class Moment {
 public:
  constexpr Moment() = default;
  constexpr explicit Moment(std::int64_t nanoseconds) : nanoseconds_(nanoseconds) {}

  [[nodiscard]] constexpr std::int64_t count() const { return nanoseconds_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(nanoseconds_) * 1e-9; }

  friend constexpr auto operator<=>(Moment, Moment) = default;
  // Saturates: "never" stays never.
  friend constexpr Moment operator+(Moment at, Duration after) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return Moment(after.count() > 0 && at.nanoseconds_ > most - after.count() ? most : at.nanoseconds_ + after.count());
  }
  friend constexpr Duration operator-(Moment later, Moment earlier) {
    return Duration(later.nanoseconds_ - earlier.nanoseconds_);
  }

 private:
  std::int64_t nanoseconds_ = 0;
};

inline constexpr Moment kNever = Moment(std::numeric_limits<std::int64_t>::max());
inline constexpr Duration kUnlimited = Duration(std::numeric_limits<std::int64_t>::max());

constexpr Duration seconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
[[nodiscard]] constexpr double seconds_of(Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }

}  // namespace weft::sched
