#include "oob/manage/sensors_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/host_range.h"

namespace weft::oob {
namespace {

constexpr double kFar = 3.5;           // robust standard deviations: Iglewicz and Hoaglin (1993), page 12
constexpr double kMadScale = 1.4826;   // 1 / quantile of the normal distribution at 3/4
constexpr double kMeanScale = 1.2533;  // sqrt(pi / 2): mean absolute deviation of a normal distribution
constexpr std::size_t kFewest = 10;
constexpr std::size_t kMaxSensors = 4096;  // per BMC; real ones have some hundreds

bool is_bad(const SensorSummary& summary) {
  return !summary.critical.empty() || !summary.warning.empty() || !summary.outliers.empty();
}

// 0 for what must be checked first.
int urgency(const SensorSummary& summary) {
  if (!summary.critical.empty()) return 0;
  if (!summary.warning.empty()) return 1;
  return summary.outliers.empty() ? 3 : 2;
}

// Three decimals at most: BMCs round, and conversions leave 24.000000001.
Cell number(const std::optional<double>& value) {
  if (!value) return {};
  return Cell(std::round(*value * 1000) / 1000, fmt::format("{:.5g}", *value));
}

Cell range(const Inventory& inventory, const std::vector<std::uint32_t>& targets) {
  return targets.empty() ? Cell() : Cell(inventory.fold(targets));
}

std::vector<Cell> row_of(const Inventory& inventory, const SensorSeries& series, const SensorSummary& summary) {
  return {series.name,
          series.kind,
          series.model,
          static_cast<std::uint64_t>(series.samples.size()),
          number(summary.lowest),
          number(summary.median),
          number(summary.highest),
          series.unit,
          summary.highest ? Cell(inventory.targets()[summary.highest_at].name) : Cell(),
          range(inventory, summary.critical),
          range(inventory, summary.warning),
          range(inventory, summary.outliers),
          static_cast<std::uint64_t>(summary.unreadable.size())};
}

void add_unread_sensors(Document& document, const Inventory& inventory, const SensorFleet& fleet) {
  const std::vector<SensorFleet::Unread> unread = fleet.unread();
  if (unread.empty()) return;
  TableSection table{"unread_sensors", "Sensors that could not be read", {}, {}};
  table.columns = {
      {.key = "devices", .title = "Devices"}, {.key = "part", .title = "Part"}, {.key = "why", .title = "Why"}};
  for (const SensorFleet::Unread& one : unread) table.rows.push_back({inventory.fold(one.targets), one.place, one.why});
  document.sections.emplace_back(std::move(table));
}

std::string outlier_note(std::size_t outliers) {
  return fmt::format(
      "{} reading{} further than 3.5 robust deviations from the median of its model, although within its limits",
      outliers, outliers == 1 ? " is" : "s are");
}

}  // namespace

void SensorFleet::add(std::uint32_t target, const std::vector<SensorReading>& readings) {
  const std::string& model = inventory_.targets()[target].model;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < std::min(readings.size(), kMaxSensors); ++i) {
    const SensorReading& reading = readings[i];
    const SensorLimits limits{reading.low_critical, reading.high_critical};
    const auto [number, is_new] = limit_numbers_.try_emplace(limits, static_cast<std::uint32_t>(limits_.size()));
    if (is_new) limits_.push_back(limits);
    SensorSample sample;
    sample.target = target;
    sample.limits = number->second;
    sample.readable = reading.value.has_value() && std::isfinite(*reading.value);
    sample.value = sample.readable ? *reading.value : 0;
    sample.health = reading.health;
    samples_[Key{model, told(reading.kind), told(reading.name), told(reading.unit)}].push_back(sample);
  }
}

void SensorFleet::add_unread(std::uint32_t target, const std::vector<UnreadSensors>& unread) {
  const std::lock_guard lock(mutex_);
  for (const UnreadSensors& one : unread) unread_[{told(one.place), reason_of(one.error)}].push_back(target);
}

std::vector<SensorFleet::Unread> SensorFleet::unread() const {
  const std::lock_guard lock(mutex_);
  std::vector<Unread> all;
  for (const auto& [key, targets] : unread_) {
    all.push_back({key.first, key.second, targets});
    std::sort(all.back().targets.begin(), all.back().targets.end());
  }
  return all;
}

std::vector<std::string> SensorFleet::kinds() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> kinds;
  for (const auto& [key, samples] : samples_) kinds.push_back(std::get<1>(key));
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

SensorLimits SensorFleet::limits(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  return limits_[index];
}

std::vector<SensorSeries> SensorFleet::series(const std::string& kind) const {
  const std::lock_guard lock(mutex_);
  std::vector<SensorSeries> all;
  all.reserve(samples_.size());
  for (const auto& [key, samples] : samples_) {
    if (!kind.empty() && std::get<1>(key) != kind) continue;
    SensorSeries one{std::get<0>(key), std::get<2>(key), std::get<1>(key), std::get<3>(key), samples};
    std::stable_sort(one.samples.begin(), one.samples.end(),
                     [](const SensorSample& a, const SensorSample& b) { return a.target < b.target; });
    all.push_back(std::move(one));
  }
  std::stable_sort(all.begin(), all.end(), [](const SensorSeries& a, const SensorSeries& b) {
    if (a.model != b.model) return a.model < b.model;
    if (a.kind != b.kind) return a.kind < b.kind;
    return natural_less(a.name, b.name);
  });
  return all;
}

double median_of(std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), at, values.end());
  if (values.size() % 2 == 1) return *at;
  const double above = *at;
  const double below = *std::max_element(values.begin(), at);
  return below + (above - below) / 2;
}

std::vector<std::size_t> outliers_of(const std::vector<double>& values) {
  std::vector<std::size_t> far;
  if (values.size() < kFewest) return far;
  std::vector<double> work = values;
  const double median = median_of(work);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    work[i] = std::abs(values[i] - median);
    sum += work[i];
  }
  const std::vector<double> distance = work;
  const double mad = median_of(work);
  const double scale = mad > 0 ? kMadScale * mad : kMeanScale * sum / static_cast<double>(values.size());
  if (scale <= 0) return far;  // all equal
  for (std::size_t i = 0; i < distance.size(); ++i) {
    if (distance[i] / scale > kFar) far.push_back(i);
  }
  return far;
}

SensorSummary summarize(const SensorSeries& series) {
  SensorSummary summary;
  std::vector<double> values;
  std::vector<std::uint32_t> owners;
  values.reserve(series.samples.size());
  owners.reserve(series.samples.size());
  for (const SensorSample& sample : series.samples) {
    if (sample.health == Health::critical) summary.critical.push_back(sample.target);
    if (sample.health == Health::warning) summary.warning.push_back(sample.target);
    if (!sample.readable) {
      summary.unreadable.push_back(sample.target);
      continue;
    }
    if (!summary.highest || sample.value > *summary.highest) {
      summary.highest = sample.value;
      summary.highest_at = sample.target;
    }
    if (!summary.lowest || sample.value < *summary.lowest) summary.lowest = sample.value;
    values.push_back(sample.value);
    owners.push_back(sample.target);
  }
  if (values.empty()) return summary;
  if (series.kind != "discrete") {  // state bits, not a measured value
    for (const std::size_t i : outliers_of(values)) summary.outliers.push_back(owners[i]);
  }
  summary.median = median_of(values);
  return summary;
}

SensorsReport sensors_report(const Inventory& inventory, const SensorFleet& fleet, const std::string& kind,
                             bool only_bad, const std::vector<Unreached>& unreached) {
  using Align = Column::Align;
  SensorsReport report;
  report.document.kind = "oob-sensors";
  TableSection table{"sensors", "", {}, {}};
  table.columns = {{.key = "sensor", .title = "Sensor"},
                   {.key = "kind", .title = "Kind", .wide = true},
                   {.key = "model", .title = "Model"},
                   {.key = "devices", .title = "Devices", .align = Align::right},
                   {.key = "lowest", .title = "Lowest", .align = Align::right},
                   {.key = "median", .title = "Median", .align = Align::right},
                   {.key = "highest", .title = "Highest", .align = Align::right},
                   {.key = "unit", .title = "Unit"},
                   {.key = "highest_at", .title = "Highest at"},
                   {.key = "critical", .title = "Critical"},
                   {.key = "warning", .title = "Warning"},
                   {.key = "outliers", .title = "Outliers"},
                   {.key = "unreadable", .title = "Unreadable", .align = Align::right, .wide = true}};
  std::vector<std::pair<int, std::vector<Cell>>> rows;
  std::size_t outliers = 0;
  for (const SensorSeries& series : fleet.series(kind)) {
    const SensorSummary summary = summarize(series);
    report.critical = report.critical || !summary.critical.empty();
    outliers += summary.outliers.size();
    if (only_bad && !is_bad(summary)) continue;
    rows.emplace_back(urgency(summary), row_of(inventory, series, summary));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [order, row] : rows) table.rows.push_back(std::move(row));
  report.document.sections.emplace_back(std::move(table));
  add_unread_sensors(report.document, inventory, fleet);
  add_unreached(report.document, inventory, unreached);
  if (outliers > 0) report.document.notes.push_back(outlier_note(outliers));
  return report;
}

SensorsReport sensor_rows(const Inventory& inventory, const SensorFleet& fleet, const std::string& kind, bool only_bad,
                          const std::vector<Unreached>& unreached) {
  SensorsReport report;
  report.document.kind = "oob-sensors";
  TableSection table{"readings", "", {}, {}};
  table.columns = {{.key = "device", .title = "Device"},
                   {.key = "sensor", .title = "Sensor"},
                   {.key = "kind", .title = "Kind"},
                   {.key = "model", .title = "Model"},
                   {.key = "value", .title = "Value"},
                   {.key = "unit", .title = "Unit"},
                   {.key = "health", .title = "Health"},
                   {.key = "low_critical", .title = "Low critical"},
                   {.key = "high_critical", .title = "High critical"},
                   {.key = "outlier", .title = "Outlier"}};
  for (const SensorSeries& series : fleet.series(kind)) {
    const SensorSummary summary = summarize(series);
    report.critical = report.critical || !summary.critical.empty();
    for (const SensorSample& sample : series.samples) {
      const bool far = std::binary_search(summary.outliers.begin(), summary.outliers.end(), sample.target);
      const bool bad = far || sample.health == Health::critical || sample.health == Health::warning;
      if (only_bad && !bad) continue;
      const SensorLimits limits = fleet.limits(sample.limits);
      table.rows.push_back({inventory.targets()[sample.target].name, series.name, series.kind, series.model,
                            sample.readable ? number(sample.value) : Cell(), series.unit, to_text(sample.health),
                            number(limits.low_critical), number(limits.high_critical), far});
    }
  }
  report.document.sections.emplace_back(std::move(table));
  add_unread_sensors(report.document, inventory, fleet);
  add_unreached(report.document, inventory, unreached);
  return report;
}

}  // namespace weft::oob
