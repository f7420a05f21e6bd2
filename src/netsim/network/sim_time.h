// Simulated time: picoseconds since the start of a run, as a type of its own. At this resolution one byte at 800 Gb/s
// (10 ps) is exact, and int64 covers 106 days. It cannot be mixed with Duration (nanoseconds) by accident.
#pragma once

#include <cstdint>

#include "base/quantity.h"

namespace weft::netsim {

using SimTime = Quantity<struct SimTimeTag>;  // picoseconds

constexpr SimTime picoseconds(std::int64_t n) { return SimTime(n); }
constexpr SimTime nanoseconds(std::int64_t n) { return SimTime(n * 1'000); }
constexpr SimTime microseconds(std::int64_t n) { return SimTime(n * 1'000'000); }
constexpr SimTime from_duration(Duration d) { return SimTime(d.count() * 1'000); }
inline constexpr SimTime kNever{INT64_MAX};

// Time on the wire of `bytes`, rounded up to the picosecond. `rate` must be positive.
constexpr SimTime serialization_time(Bytes bytes, BitRate rate) {
  const auto bits_ps = static_cast<Uint128>(bytes.count()) * 8U * 1'000'000'000'000U;
  const auto per_second = static_cast<Uint128>(rate.count());
  const Uint128 time = (bits_ps + per_second - 1) / per_second;
  return time > static_cast<Uint128>(INT64_MAX) ? kNever : SimTime(static_cast<std::int64_t>(time));
}

constexpr double in_microseconds(SimTime t) { return static_cast<double>(t.count()) / 1e6; }

}  // namespace weft::netsim
