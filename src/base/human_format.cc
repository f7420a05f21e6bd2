#include "base/human_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <span>

namespace weft {
namespace {

struct Scale {
  double from;
  std::string_view unit;
};

// The largest scale that `size` reaches, or the first one. `reach` is slightly below 1: 999.96 ns rounds to 1 us.
const Scale& choose_scale(double size, std::span<const Scale> scales, double reach) {
  const Scale* chosen = scales.data();
  for (const Scale& scale : scales) {
    if (size >= scale.from * reach) chosen = &scale;
  }
  return *chosen;
}

std::string format_scaled(double value, std::span<const Scale> scales) {
  const Scale& scale = choose_scale(std::abs(value), scales, 0.9995);
  return fmt::format("{} {}", format_number(value / scale.from), scale.unit);
}

std::string format_finely_scaled(double value, std::span<const Scale> scales) {
  const Scale& scale = choose_scale(value, scales, 0.99995);
  return fmt::format("{} {}", format_fine_number(value / scale.from), scale.unit);
}

}  // namespace

std::string group_digits(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string grouped_plural(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", group_digits(count), count == 1 ? one : many);
}

std::string format_number(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0.0) return "0";
  const double size = std::abs(value);
  if (size >= 999.5) {
    const std::string digits = group_digits(static_cast<std::uint64_t>(std::min(std::round(size), 1e18)));
    return value < 0 ? "-" + digits : digits;
  }
  // 9.996 needs one decimal less after rounding.
  int whole = static_cast<int>(std::floor(std::log10(size))) + 1;
  if (size >= (1 - 5e-4) * std::pow(10.0, whole)) ++whole;
  std::string text = fmt::format("{:.{}f}", value, std::clamp(3 - whole, 0, 6));
  // "1.40" keeps its digits, "15.0" is 15.
  const std::size_t point = text.find('.');
  if (point != std::string::npos && text.find_first_not_of('0', point + 1) == std::string::npos) text.resize(point);
  return text == "-0" ? "0" : text;
}

std::string format_fine_number(double value) {
  if (value == 0.0) return "0";
  const int whole = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::clamp(4 - whole, 0, 3));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string format_count(double count) {
  static constexpr std::array<Scale, 4> kScales = {{{1, ""}, {1e6, "million"}, {1e9, "billion"}, {1e12, "trillion"}}};
  std::string text = format_scaled(count, kScales);
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string format_percent(double share, int decimals) { return fmt::format("{:.{}f} %", share * 100, decimals); }

std::string format_percent(double share) {
  const double percent = share * 100;
  if (!std::isfinite(percent)) return "-";
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (std::abs(percent) >= 999.5) return format_number(percent) + " %";
  std::string text = fmt::format("{:.1f}", percent);
  if (text == "0.0" || text == "-0.0") text = "0";
  return (text == "100.0" ? "100" : text) + " %";
}

std::string format_signed_percent(double share) {
  const std::string text = format_percent(share);
  return share > 0 && text.front() != '<' ? "+" + text : text;
}

std::string format_short_percent(double share) {
  const double percent = share * 100;
  return format_percent(share, percent > 0 && percent < 9.95 ? 1 : 0);
}

std::string format_duration(Duration duration) {
  const std::int64_t total = duration.count() / 1'000'000'000;
  const std::array<std::int64_t, 4> parts = {total / 86'400, total / 3'600 % 24, total / 60 % 60, total % 60};
  constexpr std::array<std::string_view, 4> kUnits = {"d", "h", "min", "s"};
  for (std::size_t part = 0; part < 3; ++part) {
    if (parts[part] == 0) continue;
    const std::string first = fmt::format("{} {}", parts[part], kUnits[part]);
    return parts[part + 1] == 0 ? first : fmt::format("{} {} {}", first, parts[part + 1], kUnits[part + 1]);
  }
  if (parts[3] > 0 || duration.count() == 0) return fmt::format("{} s", parts[3]);
  return "under 1 s";
}

std::string format_picoseconds(double picoseconds) {
  static constexpr std::array<Scale, 8> kScales = {{{1e3, "ns"},
                                                    {1e6, "us"},
                                                    {1e9, "ms"},
                                                    {1e12, "s"},
                                                    {60e12, "min"},
                                                    {3600e12, "h"},
                                                    {24 * 3600e12, "days"},
                                                    {365.25 * 24 * 3600e12, "years"}}};
  return picoseconds == 0.0 ? "0 s" : format_scaled(picoseconds, kScales);
}

std::string format_fine_picoseconds(double picoseconds) {
  static constexpr std::array<Scale, 4> kScales = {{{1e3, "ns"}, {1e6, "us"}, {1e9, "ms"}, {1e12, "s"}}};
  return format_finely_scaled(picoseconds, kScales);
}

std::string format_utc(std::int64_t wall_ms) {
  const std::int64_t ms = ((wall_ms % 1000) + 1000) % 1000;
  std::string text = format_utc_seconds(wall_ms);
  text.pop_back();
  return fmt::format("{}.{:03}Z", text, ms);
}

std::string format_utc_seconds(std::int64_t wall_ms) {
  const std::int64_t ms = ((wall_ms % 1000) + 1000) % 1000;
  const std::time_t seconds = (wall_ms - ms) / 1000;
  std::tm date{};
  ::gmtime_r(&seconds, &date);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday,
                     date.tm_hour, date.tm_min, date.tm_sec);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<Scale, 6> kScales = {
      {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}}};
  return bytes == 0.0 ? "0" : format_scaled(bytes, kScales);
}

std::string format_bytes(Bytes bytes) { return format_bytes(static_cast<double>(bytes.count())); }

std::string format_bit_rate(double bits_per_second) {
  static constexpr std::array<Scale, 5> kScales = {
      {{1, "b/s"}, {1e3, "kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}, {1e12, "Tb/s"}}};
  return format_finely_scaled(bits_per_second, kScales);
}

std::string format_power(Power power) {
  static constexpr std::array<Scale, 3> kScales = {{{1, "W"}, {1e3, "kW"}, {1e6, "MW"}}};
  const double watts = static_cast<double>(power.count()) / 1e3;
  return watts == 0.0 ? "0 W" : format_scaled(watts, kScales);
}

}  // namespace weft
