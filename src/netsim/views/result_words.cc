#include "netsim/views/result_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace weft::netsim {
namespace {

struct Scale {
  double from;
  std::string_view unit;
};

// Four significant digits without a trailing ".000": 812, 3.142, 12.5.
std::string short_number(double value) {
  if (value == 0.0) return "0";
  const int whole = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::clamp(4 - whole, 0, 3));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// `scales` go up; the first takes whatever is below the second.
std::string scaled(double value, std::span<const Scale> scales) {
  const Scale* chosen = scales.data();
  for (const Scale& scale : scales) {
    if (value >= scale.from * 0.99995) chosen = &scale;
  }
  return fmt::format("{} {}", short_number(value / chosen->from), chosen->unit);
}

}  // namespace

std::string time_text(SimTime time) {
  if (time == kNever) return "never";
  static constexpr Scale kScales[] = {{1e3, "ns"}, {1e6, "us"}, {1e9, "ms"}, {1e12, "s"}};
  return scaled(static_cast<double>(time.count()), kScales);
}

std::string rate_text(double bps) {
  static constexpr Scale kScales[] = {{1, "b/s"}, {1e3, "kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}, {1e12, "Tb/s"}};
  return scaled(bps, kScales);
}

std::string percent_text(double share) {
  const double percent = share * 100;
  return percent > 0 && percent < 9.95 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string grouped_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string counted_text(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped_text(count), count == 1 ? one : many);
}

Cell microseconds_cell(SimTime time) {
  if (time == kNever) return {};
  const double us = in_microseconds(time);
  return {us, fmt::format("{:.2f}", us)};
}

Cell time_cell(SimTime time) {
  if (time == kNever) return {};
  return {in_microseconds(time), time_text(time)};
}

Cell count_cell(std::uint64_t count) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {std::min(count, kMax), grouped_text(count)};
}

Cell percent_cell(double share) {
  const double percent = std::round(share * 1e4) / 100;
  return {percent, percent_text(share)};
}

Cell size_cell(Bytes bytes) { return {bytes.count(), about(bytes)}; }

Column left_column(std::string key, std::string title) { return {.key = std::move(key), .title = std::move(title)}; }

Column right_column(std::string key, std::string title) {
  return {.key = std::move(key), .title = std::move(title), .align = Column::Align::right};
}

Column wide_column(std::string key, std::string title) {
  Column column = right_column(std::move(key), std::move(title));
  column.wide = true;
  return column;
}

}  // namespace weft::netsim
