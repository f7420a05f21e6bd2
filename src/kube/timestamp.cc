#include "kube/timestamp.h"

#include <fmt/format.h>

#include <chrono>

namespace weft::kube {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Exactly `digits` digits at the front, removed from `text`; -1 if they are not there.
int take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Of ".123456789"; digits beyond the third are dropped. -1: no digit after the point.
int take_fraction(std::string_view& text) {
  if (!take_char(text, ".")) return 0;
  int value = 0;
  int digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), ++digits) {
    if (digits < 3) value = value * 10 + (text.front() - '0');
  }
  for (int i = digits; i < 3; ++i) value *= 10;
  return digits == 0 ? -1 : value;
}

// In minutes east of UTC.
std::optional<int> take_offset(std::string_view& text) {
  if (take_char(text, "Zz")) return 0;
  const bool west = !text.empty() && text.front() == '-';
  if (!take_char(text, "+-")) return std::nullopt;
  const int hours = take_digits(text, 2);
  const bool colon = take_char(text, ":");
  const int minutes = take_digits(text, 2);
  if (!colon || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace

std::string format_timestamp(std::int64_t milliseconds) {
  const std::chrono::sys_time<Milliseconds> time{Milliseconds(milliseconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}000Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  const int year = take_digits(text, 4);
  if (year < 1970 || !take_char(text, "-")) return std::nullopt;
  const int month = take_digits(text, 2);
  if (month < 1 || !take_char(text, "-")) return std::nullopt;
  const int day = take_digits(text, 2);
  if (day < 1 || !take_char(text, "Tt")) return std::nullopt;
  const int hour = take_digits(text, 2);
  if (hour < 0 || hour > 23 || !take_char(text, ":")) return std::nullopt;
  const int minute = take_digits(text, 2);
  if (minute < 0 || minute > 59 || !take_char(text, ":")) return std::nullopt;
  const int second = take_digits(text, 2);
  if (second < 0 || second > 60) return std::nullopt;  // 60: a leap second
  const int fraction = take_fraction(text);
  const std::optional<int> offset = take_offset(text);
  if (fraction < 0 || !offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute - *offset) * 60'000 + second * 1000 + fraction;
}

}  // namespace weft::kube
