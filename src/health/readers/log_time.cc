#include "health/readers/log_time.h"

#include <array>
#include <chrono>

#include "health/readers/line_scan.h"

namespace weft::health {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

std::optional<sched::Moment> make_moment(std::uint32_t year, std::uint32_t month, std::uint32_t day,
                                         std::int64_t nanoseconds) {
  if (year < 1970 || year > 2261) return std::nullopt;  // of 64 bits of nanoseconds
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return sched::Moment(std::chrono::sys_days(date).time_since_epoch().count() * kDay + nanoseconds);
}

// "Z", "+00:00", "+0000"; without a zone UTC
std::int64_t take_zone(std::string_view& text) {
  if (take(text, "Z")) return 0;
  std::string_view rest = text;
  const bool west = rest.starts_with("-");
  if (!take(rest, "+") && !take(rest, "-")) return 0;
  const auto hours = take_digits(rest, 2, 2);
  const auto bare = hours ? std::optional<std::uint32_t>() : take_digits(rest, 4, 4);
  std::uint32_t minutes = 0;
  if (hours && take(rest, ":")) {
    minutes = take_digits(rest, 2, 2).value_or(0);
  } else if (!hours && !bare) {
    return 0;
  }
  const std::uint32_t east = hours ? *hours * 60 + minutes : *bare / 100 * 60 + *bare % 100;
  text = rest;
  return (west ? -1 : 1) * static_cast<std::int64_t>(east) * 60 * kSecond;
}

}  // namespace

std::optional<std::uint32_t> take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t size = 0;
  std::uint32_t value = 0;
  while (size < text.size() && size <= most && is_digit(text[size])) {
    value = value * 10 + static_cast<std::uint32_t>(text[size] - '0');
    ++size;
  }
  if (size < least || size > most) return std::nullopt;
  text.remove_prefix(size);
  return value;
}

std::int64_t take_fraction(std::string_view& text) {
  std::int64_t value = 0;
  std::int64_t unit = kSecond / 10;
  while (!text.empty() && is_digit(text.front())) {
    value += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
  }
  return value;
}

std::optional<TimeOfDay> take_time_of_day(std::string_view& text) {
  const auto hour = take_digits(text, 2, 2);
  if (!hour || *hour > 23 || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2, 2);
  if (!minute || *minute > 59 || !take(text, ":")) return std::nullopt;
  const auto second = take_digits(text, 2, 2);
  if (!second || *second > 60) return std::nullopt;  // 60: a leap second
  TimeOfDay time;
  time.comma = text.starts_with(",");
  if (text.size() > 1 && (time.comma || text.front() == '.') && is_digit(text[1])) {
    text.remove_prefix(1);
    time.nanoseconds = take_fraction(text);
  }
  time.nanoseconds += (static_cast<std::int64_t>(*hour) * 3600 + *minute * 60 + *second) * kSecond;
  return time;
}

std::optional<std::uint32_t> take_month(std::string_view& text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::uint32_t i = 0; i < kMonths.size(); ++i) {
    if (take(text, kMonths[i])) return i + 1;
  }
  return std::nullopt;
}

sched::Moment place_in_year(std::uint32_t month, std::uint32_t day, std::int64_t nanoseconds, sched::Moment now) {
  if (now.count() <= 0) return {};
  const std::chrono::sys_days today{std::chrono::days(now.count() / kDay)};
  const int this_year = static_cast<int>(std::chrono::year_month_day(today).year());
  // February 29 is at most eight years back.
  for (int year = this_year + 1; year >= 1970 && year > this_year - 9; --year) {
    const auto moment = make_moment(static_cast<std::uint32_t>(year), month, day, nanoseconds);
    if (moment && moment->count() - now.count() <= kDay) return *moment;
  }
  return {};
}

std::optional<IsoTime> take_iso_time(std::string_view& text) {
  std::string_view rest = text;
  const auto year = take_digits(rest, 4, 4);
  if (!year || !take(rest, "-")) return std::nullopt;
  const auto month = take_digits(rest, 2, 2);
  if (!month || !take(rest, "-")) return std::nullopt;
  const auto day = take_digits(rest, 2, 2);
  if (!day || !take(rest, "T")) return std::nullopt;
  const auto time = take_time_of_day(rest);
  if (!time) return std::nullopt;
  const std::int64_t zone = take_zone(rest);
  const auto moment = make_moment(*year, *month, *day, time->nanoseconds);
  if (!moment) return std::nullopt;
  text = rest;
  return IsoTime{sched::Moment(moment->count() - zone), time->comma};
}

std::optional<sched::Moment> read_ctime(std::string_view text) {
  (void)take_until(text, " ");
  const auto month = take_month(text);
  skip_spaces(text);
  const auto day = take_digits(text, 1, 2);
  if (!month || !day || !take(text, " ")) return std::nullopt;
  const auto time = take_time_of_day(text);
  if (!time || !take(text, " ")) return std::nullopt;
  const auto year = take_digits(text, 4, 4);
  if (!year || !text.empty()) return std::nullopt;
  return make_moment(*year, *month, *day, time->nanoseconds);
}

}  // namespace weft::health
