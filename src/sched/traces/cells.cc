#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr int kMaxDigits = 18;  // below 2^63

// The part of a cell that a message quotes: enough to identify it.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  return text.size() <= most ? std::string(text) : std::string(text.substr(0, most)) + "...";
}

// Parses `count` digits at `at` and advances it; -1 if there are fewer.
std::int64_t digits_at(std::string_view text, std::size_t& at, std::size_t count) {
  if (text.size() < at + count) return -1;
  std::int64_t value = 0;
  for (const std::size_t end = at + count; at < end; ++at) {
    if (!is_digit(text[at])) return -1;
    value = value * 10 + (text[at] - '0');
  }
  return value;
}

bool take(std::string_view text, std::size_t& at, std::string_view one_of) {
  if (at >= text.size() || one_of.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

bool is_leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

// Days since 1970-01-01; -1 for a date that does not exist. Years 1970 to 2200.
std::int64_t days_from_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  constexpr int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1) return -1;
  const std::int64_t most = lengths[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
  if (day > most) return -1;
  const std::int64_t past = year - 1;
  // There are 719,162 days between 0001-01-01 and 1970-01-01 in the Gregorian calendar.
  std::int64_t days = past * 365 + past / 4 - past / 100 + past / 400 - 719'162;
  for (std::int64_t m = 1; m < month; ++m) days += lengths[m - 1] + (m == 2 && is_leap(year) ? 1 : 0);
  return days + day - 1;
}

// UTC offset in seconds at the end of a time; none if something else follows.
std::optional<std::int64_t> offset_at(std::string_view text, std::size_t at) {
  if (at == text.size()) return 0;
  if (text.substr(at) == "Z" || text.substr(at) == "z") return 0;
  const bool west = text[at] == '-';
  if (!take(text, at, "+-")) return std::nullopt;
  const std::int64_t hours = digits_at(text, at, 2);
  take(text, at, ":");
  const std::int64_t minutes = at == text.size() ? 0 : digits_at(text, at, 2);
  if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59 || at != text.size()) return std::nullopt;
  const std::int64_t offset = hours * 3600 + minutes * 60;
  return west ? -offset : offset;
}

}  // namespace

std::optional<std::int64_t> parse_decimal(std::string_view text, int digits) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  std::int64_t value = 0;
  int used = 0;       // digits of the result that are not leading zeros
  int fraction = -1;  // digits after the point; -1 before it
  bool any = false;
  for (const char c : text) {
    if (c == '.' && fraction < 0) {
      fraction = 0;
      continue;
    }
    if (!is_digit(c)) return std::nullopt;
    any = true;
    if (fraction >= digits) continue;  // finer than requested
    if (value != 0 || c != '0') ++used;
    if (used > kMaxDigits) return std::nullopt;
    value = value * 10 + (c - '0');
    if (fraction >= 0) ++fraction;
  }
  if (!any) return std::nullopt;
  for (int d = std::max(fraction, 0); d < digits; ++d) {
    if (value != 0 && ++used > kMaxDigits) return std::nullopt;
    value *= 10;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  std::size_t at = 0;
  const std::int64_t year = digits_at(text, at, 4);
  if (!take(text, at, "-")) return std::nullopt;
  const std::int64_t month = digits_at(text, at, 2);
  if (!take(text, at, "-")) return std::nullopt;
  const std::int64_t day = digits_at(text, at, 2);
  const std::int64_t days = days_from_1970(year, month, day);
  if (days < 0) return std::nullopt;
  if (at == text.size()) return days * 86'400 * kNanoseconds;
  if (!take(text, at, " Tt")) return std::nullopt;
  const std::int64_t hour = digits_at(text, at, 2);
  if (!take(text, at, ":")) return std::nullopt;
  const std::int64_t minute = digits_at(text, at, 2);
  std::int64_t second = 0;
  if (take(text, at, ":")) second = digits_at(text, at, 2);
  // A leap second reads as the second after it.
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
  std::int64_t fraction = 0;
  if (take(text, at, ".")) {
    const std::size_t begin = at;
    std::int64_t unit = kNanoseconds;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      unit /= 10;
      fraction += unit * (text[at] - '0');
    }
    if (at == begin) return std::nullopt;
  }
  const std::optional<std::int64_t> offset = offset_at(text, at);
  if (!offset) return std::nullopt;
  return (days * 86'400 + hour * 3600 + minute * 60 + second - *offset) * kNanoseconds + fraction;
}

void CellReader::error(const Cell& cell, std::string message, std::string hint) {
  failed_ = true;
  diagnostics_->error(cell.field.place, std::move(message), std::move(hint),
                      std::max<std::size_t>(1, cell.text().size()));
}

bool CellReader::whole(const Cell& cell, std::int64_t least, std::int64_t most, std::int64_t& value) {
  const std::string_view text = cell.text();
  const std::size_t point = text.find('.');
  const bool fraction = point != std::string_view::npos &&
                        (text.find_first_not_of('0', point + 1) != std::string_view::npos || point + 1 == text.size());
  const std::optional<std::int64_t> number = fraction ? std::nullopt : parse_decimal(text, 0);
  if (!number) {
    error(cell, cell.empty() ? fmt::format("no `{}`", cell.name)
                             : fmt::format("`{}` is not a whole number: `{}`", cell.name, shown(text)));
    return false;
  }
  if (*number < least || *number > most) {
    error(cell, fmt::format("`{}` is {}; expected {} to {}", cell.name, *number, least, most));
    return false;
  }
  value = *number;
  return true;
}

bool CellReader::whole(const Cell& cell, std::int64_t least, std::int64_t most, std::int32_t& value) {
  std::int64_t wide = 0;
  if (!whole(cell, least, most, wide)) return false;
  value = static_cast<std::int32_t>(wide);
  return true;
}

bool CellReader::milli(const Cell& cell, std::int64_t least, std::int64_t most, std::int32_t& value) {
  const std::optional<std::int64_t> number = parse_decimal(cell.text(), 3);
  if (!number) {
    error(cell, cell.empty() ? fmt::format("no `{}`", cell.name)
                             : fmt::format("`{}` is not a number: `{}`", cell.name, shown(cell.text())));
    return false;
  }
  if (*number < least || *number > most) {
    error(cell, fmt::format("`{}` is {}; expected {:g} to {:g}", cell.name, shown(cell.text()),
                            static_cast<double>(least) / 1000.0, static_cast<double>(most) / 1000.0));
    return false;
  }
  value = static_cast<std::int32_t>(*number);
  return true;
}

bool CellReader::seconds(const Cell& cell, Duration& value) {
  // Nine digits after the point leave nine before it, so whole seconds and their fraction are parsed separately.
  const std::string_view text = cell.text();
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::optional<std::int64_t> number =
      point == 0 && text.size() > 1 ? std::optional<std::int64_t>(0) : parse_decimal(text.substr(0, point), 0);
  const std::optional<std::int64_t> fraction = text.size() - point <= 1 ? 0 : parse_decimal(text.substr(point), 9);
  if (!number || !fraction) {
    error(cell, cell.empty() ? fmt::format("no `{}`", cell.name)
                             : fmt::format("`{}` is not a number of seconds: `{}`", cell.name, shown(text)));
    return false;
  }
  if (text[0] == '-' || *number > kMaxSeconds) {
    error(cell, fmt::format("`{}` is {} s; expected 0 to {} s (100 years)", cell.name, shown(text), kMaxSeconds));
    return false;
  }
  value = Duration(*number * kNanoseconds + *fraction);
  return true;
}

bool CellReader::time(const Cell& cell, std::int64_t& nanoseconds) {
  const std::optional<std::int64_t> time = parse_time(cell.text());
  if (!time) {
    error(cell,
          cell.empty() ? fmt::format("no `{}`", cell.name)
                       : fmt::format("`{}` is not a time: `{}`", cell.name, shown(cell.text())),
          "write it as 2024-05-17 11:00:58 or 2024-05-17T11:00:58+02:00");
    return false;
  }
  nanoseconds = *time;
  return true;
}

}  // namespace weft::sched
