#include "oob/manage/metrics_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "oob/manage/sensors_view.h"

namespace weft::oob {
namespace {

constexpr auto kRight = Column::Align::right;
// More metrics that differ in their last number alone are instances of one: cores, decoders.
constexpr std::size_t kMaxNumbered = 8;
constexpr std::size_t kNamed = 4;  // places that are named one by one

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// "P1DT2H3M4.5S" in seconds. Years and months have no fixed length.
std::optional<double> duration_seconds(std::string_view text) {
  if (!text.starts_with('P') || text.size() < 3) return std::nullopt;
  text.remove_prefix(1);
  double seconds = 0;
  bool in_day = false;
  while (!text.empty()) {
    if (text.front() == 'T' && !in_day) {
      in_day = true;
      text.remove_prefix(1);
      if (text.empty()) return std::nullopt;
      continue;
    }
    const std::size_t end = text.find_first_not_of("0123456789.");
    if (end == std::string_view::npos) return std::nullopt;
    const std::optional<double> count = plain_number(text.substr(0, end));
    const std::string_view units = in_day ? "HMS" : "WD";
    const std::size_t unit = units.find(text[end]);
    if (!count || unit == std::string_view::npos) return std::nullopt;
    constexpr double kInDay[] = {3600, 60, 1};
    constexpr double kDays[] = {604'800, 86'400};
    seconds += *count * (in_day ? kInDay[unit] : kDays[unit]);
    text.remove_prefix(end + 1);
  }
  return seconds;
}

bool contains(std::string_view text, std::string_view lower) { return to_lower(text).find(lower) != std::string::npos; }

// The name with its last number as "*", if it has one after a separator: "CoreUtil_67", "Decoder/6".
std::string without_last_number(const std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size() || (name[end] != '_' && name[end] != '/')) return name;
  return name.substr(0, end + 1) + "*";
}

// Numbers of a name that say which part is meant, all but the last: "ProcessorModule_0_CPU_0_Power_1".
std::string name_pattern(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool separate = i > 0 && name[i - 1] == '_' && end < name.size() && name[end] == '_';
    if (end > i && separate) {
      out += '*';
    } else {
      end = std::max(end, i + 1);
      out += name.substr(i, end - i);
    }
    i = end;
  }
  return out;
}

struct Summary {
  std::size_t count = 0;
  bool is_duration = false;
  double lowest = 0;
  double median = 0;
  double highest = 0;
  const MetricFleet::Sample* highest_at = nullptr;
  std::vector<const MetricFleet::Sample*> outliers;
  // 0 for what must be looked at first.
  [[nodiscard]] int urgency() const { return !outliers.empty() ? 0 : lowest != highest ? 1 : 2; }
};

Summary summarize(const MetricFleet::Series& series) {
  Summary summary;
  std::vector<double> values;
  std::vector<const MetricFleet::Sample*> owners;
  for (const MetricFleet::Sample& sample : series.samples) {
    if (!sample.number) continue;
    summary.is_duration = summary.is_duration || sample.number->is_duration;
    values.push_back(sample.number->value);
    owners.push_back(&sample);
  }
  summary.count = values.size();
  if (values.empty()) return summary;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  summary.lowest = *low;
  summary.highest = *high;
  summary.highest_at = owners[static_cast<std::size_t>(high - values.begin())];
  for (const std::size_t i : outliers_of(values)) summary.outliers.push_back(owners[i]);
  summary.median = median_of(values);
  return summary;
}

std::string place_of(const Inventory& inventory, const MetricFleet::Sample& sample, bool with_device = true) {
  std::vector<std::string> words;
  if (with_device) words.push_back(inventory.targets()[sample.target].name);
  for (const std::string& more : {sample.part, sample.name}) {
    if (!more.empty()) words.push_back(more);
  }
  return join(words, " ");
}

// Some places by name, more of them by their devices.
Cell places_cell(const Inventory& inventory, const std::vector<const MetricFleet::Sample*>& samples,
                 std::size_t named = kNamed) {
  if (samples.empty()) return {};
  if (samples.size() <= named) {
    std::vector<std::string> places;
    places.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const bool other_device = i == 0 || samples[i - 1]->target != samples[i]->target;
      places.push_back(place_of(inventory, *samples[i], other_device));
    }
    return join(places, ", ");
  }
  std::set<std::uint32_t> targets;
  for (const MetricFleet::Sample* sample : samples) targets.insert(sample->target);
  return fmt::format("{} ({})", inventory.fold(std::vector<std::uint32_t>(targets.begin(), targets.end())),
                     samples.size());
}

Cell value_cell(double value, bool is_duration) {
  const bool tiny = value != 0 && std::abs(value) < 0.001;  // format_fine_number() has three decimals
  return {value, (tiny ? fmt::format("{:.2g}", value) : format_fine_number(value)) + (is_duration ? " s" : "")};
}

TableSection values_table(const Inventory& inventory, const std::vector<MetricFleet::Series>& all) {
  std::vector<std::pair<const MetricFleet::Series*, Summary>> rows;
  for (const MetricFleet::Series& series : all) {
    Summary summary = summarize(series);
    if (summary.count > 0) rows.emplace_back(&series, std::move(summary));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.urgency() < b.second.urgency(); });
  TableSection table{"values",
                     "Values",
                     {{"metric", "Metric"},
                      {"part", "Part"},
                      {"count", "Count", kRight},
                      {"lowest", "Lowest", kRight},
                      {"median", "Median", kRight},
                      {"highest", "Highest", kRight},
                      {"outliers", "Outliers"},
                      {"highest_at", "Highest at"},
                      {"model", "Model"}},
                     {}};
  for (const auto& [series, summary] : rows) {
    const bool differ = summary.lowest != summary.highest;
    table.rows.push_back({series->name, series->part, std::uint64_t{summary.count},
                          value_cell(summary.lowest, summary.is_duration),
                          value_cell(summary.median, summary.is_duration),
                          value_cell(summary.highest, summary.is_duration), places_cell(inventory, summary.outliers),
                          differ ? Cell(place_of(inventory, *summary.highest_at)) : Cell(), series->model});
  }
  return table;
}

TableSection states_table(const Inventory& inventory, const std::vector<MetricFleet::Series>& all) {
  struct Row {
    const MetricFleet::Series* series = nullptr;
    std::string value;
    std::vector<const MetricFleet::Sample*> samples;
    bool differs = false;
  };
  std::vector<Row> rows;
  for (const MetricFleet::Series& series : all) {
    std::map<std::string, std::vector<const MetricFleet::Sample*>> by_value;
    for (const MetricFleet::Sample& sample : series.samples) {
      if (!sample.number) by_value[sample.text].push_back(&sample);
    }
    std::vector<Row> of_series;
    of_series.reserve(by_value.size());
    for (auto& [value, samples] : by_value)
      of_series.push_back({&series, value, std::move(samples), by_value.size() > 1});
    // The rarest first.
    std::stable_sort(of_series.begin(), of_series.end(),
                     [](const Row& a, const Row& b) { return a.samples.size() < b.samples.size(); });
    std::move(of_series.begin(), of_series.end(), std::back_inserter(rows));
  }
  std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return row.differs; });
  TableSection table{"states",
                     "States",
                     {{"metric", "Metric"},
                      {"part", "Part"},
                      {"value", "Value"},
                      {"count", "Count", kRight},
                      {"where", "Where"},
                      {"model", "Model"}},
                     {}};
  for (const Row& row : rows) {
    table.rows.push_back({row.series->name, row.series->part, row.value, std::uint64_t{row.samples.size()},
                          places_cell(inventory, row.samples, row.differs ? kNamed : 0), row.series->model});
  }
  return table;
}

void add_notes(Document& document, const Inventory& inventory, const MetricFleet& fleet) {
  if (const std::vector<MetricFleet::Unread> unread = fleet.unread(); !unread.empty()) {
    TableSection table{"unread_reports",
                       "Reports that could not be read",
                       {{"devices", "Devices"}, {"report", "Report"}, {"why", "Why"}},
                       {}};
    for (const MetricFleet::Unread& one : unread)
      table.rows.push_back({inventory.fold(one.targets), one.report, one.why});
    document.sections.emplace_back(std::move(table));
  }
  if (const std::vector<std::uint32_t> without = fleet.without_telemetry(); !without.empty())
    document.notes.push_back(
        fmt::format("{} without telemetry: {}", plural(without.size(), "device"), inventory.fold(without)));
  if (std::string why = fleet.why_nothing(); !why.empty()) document.notes.push_back(std::move(why));
  if (fleet.without_value() > 0)
    document.notes.push_back(
        fmt::format("{} without a reading (nan or NA) omitted", plural(fleet.without_value(), "metric")));
  if (fleet.stale() > 0)
    document.notes.push_back(fmt::format("{} old, as their BMC says", plural(fleet.stale(), "value is", "values are")));
}

}  // namespace

std::optional<MetricNumber> metric_number(std::string_view text) {
  if (const std::optional<double> plain = plain_number(text)) return MetricNumber{*plain, false};
  if (const std::optional<double> seconds = duration_seconds(text)) return MetricNumber{*seconds, true};
  return std::nullopt;
}

bool is_without_value(std::string_view text) {
  const std::string lower = to_lower(text);
  return lower.empty() || lower == "nan" || lower == "na" || lower == "n/a" || lower == "null";
}

std::string part_pattern(std::string_view part) {
  std::string out;
  for (const char c : part) {
    if (!is_digit(c)) {
      out += c;
    } else if (!out.ends_with('*')) {
      out += '*';
    }
  }
  return out;
}

void MetricFleet::add(std::uint32_t target, const MetricReports& reports) {
  const std::string lower = to_lower(only_);
  // The latest value of each part and name: some reports are a history.
  std::map<std::pair<std::string_view, std::string_view>, const Metric*> latest;
  std::vector<const Metric*> wanted;
  for (const Metric& metric : reports.metrics) {
    if (!lower.empty() && !contains(metric.name, lower) && !contains(metric.part, lower)) continue;
    wanted.push_back(&metric);
    const Metric*& last = latest[{metric.part, metric.name}];
    if (last == nullptr || last->time <= metric.time) last = &metric;
  }
  const std::lock_guard lock(mutex_);
  was_answered_ = true;
  read_ += reports.metrics.size();
  for (const UnreadReport& one : reports.unread) unread_[{told(one.report), reason_of(one.error)}].push_back(target);
  for (const auto& [place, metric] : latest) {
    if (metric->stale) ++stale_;
    if (is_without_value(metric->value)) {
      ++without_value_;
      continue;
    }
    const Key key{inventory_.targets()[target].model, part_pattern(metric->part), name_pattern(metric->name)};
    samples_[key].push_back({target, metric->part, std::get<2>(key) == metric->name ? "" : metric->name, metric->value,
                             metric_number(metric->value)});
  }
  if (!keep_rows_) return;
  std::vector<Metric>& rows = rows_[target];
  rows.reserve(wanted.size());
  for (const Metric* metric : wanted) rows.push_back(*metric);
}

void MetricFleet::add_without_telemetry(std::uint32_t target) {
  const std::lock_guard lock(mutex_);
  without_.push_back(target);
}

std::vector<MetricFleet::Series> MetricFleet::series() const {
  const std::lock_guard lock(mutex_);
  std::map<Key, std::size_t> numbered;
  for (const auto& [key, samples] : samples_)
    ++numbered[{std::get<0>(key), std::get<1>(key), without_last_number(std::get<2>(key))}];
  std::map<Key, std::vector<Sample>> merged;
  for (const auto& [key, samples] : samples_) {
    Key common{std::get<0>(key), std::get<1>(key), without_last_number(std::get<2>(key))};
    const bool is_instance = numbered[common] > kMaxNumbered;
    std::vector<Sample>& into = merged[is_instance ? common : key];
    for (const Sample& sample : samples) {
      into.push_back(sample);
      if (is_instance && sample.name.empty()) into.back().name = std::get<2>(key);
    }
  }
  std::vector<Series> all;
  for (auto& [key, samples] : merged) {
    std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
      if (a.target != b.target) return a.target < b.target;
      return a.part != b.part ? natural_less(a.part, b.part) : natural_less(a.name, b.name);
    });
    all.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::move(samples)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Series& a, const Series& b) {
    if (a.model != b.model) return natural_less(a.model, b.model);
    if (a.part != b.part) return natural_less(a.part, b.part);
    return natural_less(a.name, b.name);
  });
  return all;
}

std::vector<std::pair<std::uint32_t, Metric>> MetricFleet::rows() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::uint32_t, Metric>> all;
  for (const auto& [target, metrics] : rows_) {
    for (const Metric& metric : metrics) all.emplace_back(target, metric);
  }
  return all;
}

std::vector<MetricFleet::Unread> MetricFleet::unread() const {
  const std::lock_guard lock(mutex_);
  std::vector<Unread> all;
  for (const auto& [key, targets] : unread_) {
    std::vector<std::uint32_t> ascending = targets;
    std::sort(ascending.begin(), ascending.end());
    all.push_back({key.first, key.second, std::move(ascending)});
  }
  return all;
}

std::vector<std::uint32_t> MetricFleet::without_telemetry() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> all = without_;
  std::sort(all.begin(), all.end());
  return all;
}

std::uint64_t MetricFleet::without_value() const {
  const std::lock_guard lock(mutex_);
  return without_value_;
}

std::string MetricFleet::why_nothing() const {
  const std::lock_guard lock(mutex_);
  if (!was_answered_ || !samples_.empty() || without_value_ > 0) return {};
  if (read_ == 0) return "no report has a value";
  return fmt::format("{} read; none has {} in its name or part", plural(read_, "value was", "values were"),
                     in_backticks(only_));
}

std::uint64_t MetricFleet::stale() const {
  const std::lock_guard lock(mutex_);
  return stale_;
}

Document metrics_document(const Inventory& inventory, const MetricFleet& fleet,
                          const std::vector<Unreached>& unreached) {
  Document document;
  document.kind = "oob-metrics";
  const std::vector<MetricFleet::Series> all = fleet.series();
  for (TableSection table : {states_table(inventory, all), values_table(inventory, all)}) {
    if (!table.rows.empty()) document.sections.emplace_back(std::move(table));
  }
  add_unreached(document, inventory, unreached);
  add_notes(document, inventory, fleet);
  return document;
}

Document metric_rows(const Inventory& inventory, const MetricFleet& fleet, const std::vector<Unreached>& unreached) {
  Document document;
  document.kind = "oob-metrics";
  TableSection table{"metrics",
                     "",
                     {{"device", "Device"},
                      {"report", "Report"},
                      {"part", "Part"},
                      {"metric", "Metric"},
                      {"value", "Value"},
                      {"time", "Time"},
                      {"stale", "Old"}},
                     {}};
  const auto text = [](const std::string& value) { return value.empty() ? Cell() : Cell(value); };
  for (const auto& [target, metric] : fleet.rows()) {
    const std::optional<MetricNumber> number = metric_number(metric.value);
    table.rows.push_back({inventory.targets()[target].name, metric.report, text(metric.part), metric.name,
                          number && !number->is_duration ? Cell(number->value, metric.value) : text(metric.value),
                          text(metric.time), metric.stale});
  }
  document.sections.emplace_back(std::move(table));
  add_unreached(document, inventory, unreached);
  add_notes(document, inventory, fleet);
  return document;
}

}  // namespace weft::oob
