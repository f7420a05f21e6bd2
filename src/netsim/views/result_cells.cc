#include "netsim/views/result_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/human_format.h"

namespace weft::netsim {

std::string format_fine_time(SimTime time) {
  return time == kNever ? "never" : format_fine_picoseconds(static_cast<double>(time.count()));
}

Cell microseconds_cell(SimTime time) {
  if (time == kNever) return {};
  const double us = in_microseconds(time);
  return {us, fmt::format("{:.2f}", us)};
}

Cell time_cell(SimTime time) {
  if (time == kNever) return {};
  return {in_microseconds(time), format_fine_time(time)};
}

Cell count_cell(std::uint64_t count) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {std::min(count, kMax), group_digits(count)};
}

Cell percent_cell(double share) {
  const double percent = std::round(share * 1e4) / 100;
  return {percent, format_short_percent(share)};
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
