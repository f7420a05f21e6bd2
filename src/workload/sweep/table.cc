// The table of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "base/diagnostic.h"
#include "base/human_format.h"
#include "workload/life/view_cells.h"
#include "workload/sweep/results.h"

namespace weft::workload {
namespace {

using Better = SweepColumn::Better;

std::span<const SweepColumn> columns() { return sweep_columns(); }

SimTime from_seconds(double value) {
  constexpr double kMax = 9e6;  // seconds: the maximum of int64 picoseconds is 9.2 million
  return value > kMax ? netsim::kNever : SimTime(std::llround(value * 1e12));
}

std::string shown(const SweepColumn& column, double value) {
  if (column.key.ends_with("_percent")) return format_percent(value / 100);
  if (column.key.ends_with("_s") && !column.key.starts_with("tokens")) return format_time(from_seconds(value));
  return format_number(value);
}

// Sort key: a figure, or a setting, as a number if all values are numbers, else as text.
class SortKey {
 public:
  static Result<SortKey> make(const std::vector<SweepRow>& rows, std::string_view name) {
    SortKey key;
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < columns().size(); ++i) {
      if (columns()[i].key == name) key.column_ = i;
      known.push_back(columns()[i].key);
    }
    for (const SweepRow& row : rows) {
      for (const auto& [setting, value] : row.settings) {
        if (setting == name) key.setting_ = std::string(name);
        if (std::find(known.begin(), known.end(), setting) == known.end()) known.push_back(setting);
      }
    }
    if (key.column_ < columns().size() || !key.setting_.empty()) return key;
    const std::string hint = did_you_mean(name, known);
    std::string list;
    for (const std::string_view one : known) list += fmt::format("{}{}", list.empty() ? "" : ", ", one);
    return Error{ErrorCode::invalid_input,
                 fmt::format("no column `{}`; {}", name, hint.empty() ? "columns: " + list : hint),
                 {}};
  }

  [[nodiscard]] bool before(const SweepRow& a, const SweepRow& b) const {
    if (a.error.empty() != b.error.empty()) return a.error.empty();
    if (!a.error.empty()) return a.index < b.index;
    if (!setting_.empty()) return setting_before(a, b);
    // Points that do not fit cannot run, no matter how fast they would be.
    if (a.fits != b.fits) return a.fits;
    const double x = figure(a);
    const double y = figure(b);
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (x != y && !std::isnan(x)) return columns()[column_].better == Better::higher ? x > y : x < y;
    return a.index < b.index;
  }
  // The figure that selects the best; settings do not rank points.
  [[nodiscard]] std::size_t column() const { return column_ < columns().size() ? column_ : 0; }
  [[nodiscard]] bool by_setting() const { return !setting_.empty(); }

 private:
  [[nodiscard]] double figure(const SweepRow& row) const {
    return column_ < row.figures.size() ? row.figures[column_] : std::numeric_limits<double>::quiet_NaN();
  }
  [[nodiscard]] bool setting_before(const SweepRow& a, const SweepRow& b) const {
    const std::string x = setting(a);
    const std::string y = setting(b);
    if (x == y) return a.index < b.index;
    const bool first = is_number(x);
    const bool second = is_number(y);
    if (first != second) return first;
    if (first && std::strtod(x.c_str(), nullptr) != std::strtod(y.c_str(), nullptr)) {
      return std::strtod(x.c_str(), nullptr) < std::strtod(y.c_str(), nullptr);
    }
    return x < y;
  }
  static bool is_number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == 0 && std::isfinite(value);
  }
  [[nodiscard]] std::string setting(const SweepRow& row) const {
    for (const auto& [key, value] : row.settings) {
      if (key == setting_) return value;
    }
    return {};
  }
  std::size_t column_ = sweep_columns().size();
  std::string setting_;
};

// Keys in order of first appearance.
std::vector<std::string> setting_keys(const std::vector<SweepRow>& rows) {
  std::vector<std::string> keys;
  for (const SweepRow& row : rows) {
    for (const auto& [key, value] : row.settings) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

// The last segment ("tensor" of "job.training.parallel.tensor"), or the whole key if two keys share their last segment.
std::string short_key(const std::string& key, const std::vector<std::string>& all) {
  const auto last = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  const auto same =
      std::count_if(all.begin(), all.end(), [&](const std::string& one) { return last(one) == last(key); });
  return same == 1 ? last(key) : key;
}

TableSection empty_table(const std::vector<std::string>& keys) {
  TableSection table;
  table.key = "points";
  table.title = "Points";
  table.columns.push_back({.key = "best", .title = ""});
  for (const std::string& key : keys) {
    table.columns.push_back({.key = key, .title = short_key(key, keys), .align = Column::Align::right});
  }
  for (std::size_t i = 0; i < columns().size(); ++i) {
    const bool wide = i > 2 && columns()[i].key != "memory_percent";
    table.columns.push_back({.key = std::string(columns()[i].key),
                             .title = std::string(columns()[i].title),
                             .align = Column::Align::right,
                             .wide = wide});
  }
  table.columns.push_back({.key = "bound_by", .title = "Bounded by"});
  table.columns.push_back({.key = "error", .title = "Error"});
  table.columns.push_back({.key = "index", .title = "Point", .align = Column::Align::right, .wide = true});
  table.columns.push_back({.key = "id", .title = "Id", .wide = true});
  table.columns.push_back({.key = "fits", .title = "Fits", .wide = true});
  return table;
}

std::vector<Cell> cells_of(const SweepRow& row, const std::vector<std::string>& keys, bool best) {
  std::vector<Cell> cells;
  Cell mark(best);
  mark.shown = best ? "*" : " ";
  cells.push_back(std::move(mark));
  for (const std::string& key : keys) {
    const auto found =
        std::find_if(row.settings.begin(), row.settings.end(), [&](const auto& one) { return one.first == key; });
    cells.push_back(found == row.settings.end() ? Cell() : Cell(found->second));
  }
  for (std::size_t i = 0; i < columns().size(); ++i) {
    if (i >= row.figures.size() || !std::isfinite(row.figures[i])) {
      cells.emplace_back();
    } else {
      cells.emplace_back(row.figures[i], shown(columns()[i], row.figures[i]));
    }
  }
  Cell bound = row.error.empty() ? Cell(row.bound_by) : Cell();
  if (row.error.empty() && !row.fits) bound.shown = "out of memory";
  cells.push_back(std::move(bound));
  cells.push_back(row.error.empty() ? Cell() : Cell(row.error));
  cells.emplace_back(row.index);
  cells.emplace_back(row.id);
  cells.push_back(row.error.empty() ? Cell(row.fits) : Cell());
  return cells;
}

}  // namespace

Result<Document> sweep_document(std::vector<SweepRow> rows, std::string_view sort_by) {
  const Result<SortKey> key = SortKey::make(rows, sort_by);
  if (!key.ok()) return key.error();
  std::stable_sort(rows.begin(), rows.end(), [&](const SweepRow& a, const SweepRow& b) { return key->before(a, b); });
  // Sorted by a setting, the best is the one with the most tokens per second.
  const Result<SortKey> judge = key->by_setting() ? SortKey::make(rows, columns()[0].key) : key;
  const auto best = std::min_element(rows.begin(), rows.end(),
                                     [&](const SweepRow& a, const SweepRow& b) { return judge->before(a, b); });
  const bool found = best != rows.end() && best->error.empty() && best->fits && best->figures.size() > judge->column();
  const std::vector<std::string> keys = setting_keys(rows);
  Document document;
  document.kind = "sweep";
  TableSection table = empty_table(keys);
  std::size_t failures = 0;
  std::size_t too_large = 0;
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    table.rows.push_back(cells_of(*row, keys, found && row == best));
    if (!row->error.empty()) ++failures;
    if (row->error.empty() && !row->fits) ++too_large;
  }
  // Columns without values are omitted.
  for (Column& column : table.columns) column.wide = column.wide || (column.key == "error" && failures == 0);
  document.sections.emplace_back(std::move(table));
  if (found) {
    const std::size_t column = judge->column();
    document.notes.push_back(
        fmt::format("* best by {}: {}", columns()[column].key, shown(columns()[column], best->figures[column])));
  }
  if (failures > 0)
    document.notes.push_back(fmt::format("{} of {} points could not be simulated", failures, rows.size()));
  if (too_large > 0) document.notes.push_back(fmt::format("{} of {} points run out of memory", too_large, rows.size()));
  return document;
}

}  // namespace weft::workload
