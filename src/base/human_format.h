// Numbers formatted for people in tables, pages and messages: counts, percentages, durations, sizes and rates, with a
// space before the unit. Machine formats carry the plain number instead; base/quantity.h has the exact forms that can
// be parsed back.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/quantity.h"

namespace weft {

[[nodiscard]] std::string group_digits(std::uint64_t count);  // "3,000"

// "1 switch", "3000 switches"
template <std::integral Count>
[[nodiscard]] std::string plural(Count count, std::string_view one, std::string_view many) {
  return std::to_string(count).append(" ").append(count == 1 ? one : many);
}
// "1 rack", "3000 racks"
template <std::integral Count>
[[nodiscard]] std::string plural(Count count, std::string_view noun) {
  return plural(count, noun, std::string(noun) + "s");
}
// "1 switch", "3,000 switches"
[[nodiscard]] std::string grouped_plural(std::uint64_t count, std::string_view one, std::string_view many);

// Three significant digits: "1.46", "12.3", "123", "1,234"; "15" instead of "15.0", "-" if not finite.
[[nodiscard]] std::string format_number(double value);
// Four significant digits, at most three after the point, no trailing zeros: "3.142", "12.5", "812".
[[nodiscard]] std::string format_fine_number(double value);
[[nodiscard]] std::string format_count(double count);  // three digits: "1,234", "70.6 billion"

// `share` is a fraction of 1, printed as a percentage.
[[nodiscard]] std::string format_percent(double share, int decimals);  // "54.50 %"
[[nodiscard]] std::string format_percent(double share);         // "54.5 %", "<0.1 %", "0 %", "100 %"; "-" if not finite
[[nodiscard]] std::string format_signed_percent(double share);  // "+54.5 %"
[[nodiscard]] std::string format_short_percent(double share);   // "97 %", "0.4 %"

[[nodiscard]] std::string format_duration(Duration duration);           // "2 d 3 h", "14 min 5 s", "under 1 s"
[[nodiscard]] std::string format_picoseconds(double picoseconds);       // three digits: "812 ns", "3.25 min", "5.2 h"
[[nodiscard]] std::string format_fine_picoseconds(double picoseconds);  // four digits: "3.142 ms"; seconds at most
// A time of day, from milliseconds since 1970 UTC.
[[nodiscard]] std::string format_utc(std::int64_t wall_ms);          // "2026-11-16T02:03:04.567Z"
[[nodiscard]] std::string format_utc_seconds(std::int64_t wall_ms);  // "2026-11-16T02:03:04Z"

[[nodiscard]] std::string format_bytes(double bytes);  // three digits: "12.3 GB"; "0" for none
[[nodiscard]] std::string format_bytes(Bytes bytes);
[[nodiscard]] std::string format_bit_rate(double bits_per_second);  // four digits: "48.2 Tb/s"
[[nodiscard]] std::string format_power(Power power);                // three digits: "369 kW", "11.2 MW"

}  // namespace weft
