// Dates and times as logs write them, taken from the front of a text. nullopt, with nothing removed: there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sched/machine/moment.h"

namespace weft::health {

// Without a date, which may lack its year.
struct TimeOfDay {
  std::int64_t nanoseconds = 0;
  bool comma = false;  // before the fraction, as dmesg writes it
};

struct IsoTime {
  sched::Moment at;
  bool comma = false;
};

// A number of `least` to `most` digits.
[[nodiscard]] std::optional<std::uint32_t> take_digits(std::string_view& text, std::size_t least, std::size_t most);
// The digits behind a decimal separator as nanoseconds; those beyond nine are dropped.
[[nodiscard]] std::int64_t take_fraction(std::string_view& text);
// "18:28:55", with a fraction or without
[[nodiscard]] std::optional<TimeOfDay> take_time_of_day(std::string_view& text);
// "Jan" is 1.
[[nodiscard]] std::optional<std::uint32_t> take_month(std::string_view& text);
// "2025-01-21T04:41:44,285060+00:00"; without a zone UTC
[[nodiscard]] std::optional<IsoTime> take_iso_time(std::string_view& text);
// All of "Sun Jan  5 18:28:55 2025".
[[nodiscard]] std::optional<sched::Moment> read_ctime(std::string_view text);

// The newest year in which the date is not after now, plus a day for clocks that differ. Moment(): now is unknown, or
// no year has such a day.
[[nodiscard]] sched::Moment place_in_year(std::uint32_t month, std::uint32_t day, std::int64_t nanoseconds,
                                          sched::Moment now);

}  // namespace weft::health
