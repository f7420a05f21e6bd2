#include "health/intake/review.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "health/readers/kernel_log.h"
#include "health/readers/prometheus_answer.h"
#include "health/readers/reports.h"

namespace weft::health {
namespace {

// How often the monitor looks at the time while it judges: bursts and deadlines are minutes.
constexpr Duration kStep = sched::seconds(10);

class Collector final : public MetricSink {
 public:
  Collector(const MetricReader& reader, std::vector<Signal>& out) : reader_(reader), out_(out) {}
  void measure(SeriesId series, double value, sched::Moment at) override {
    out_.push_back(reader_.signal(series, value, at));
  }
  void report(Signal event) override { out_.push_back(std::move(event)); }

 private:
  const MetricReader& reader_;
  std::vector<Signal>& out_;
};

std::string name_of_file(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

Review::Review(std::shared_ptr<const Rules> rules, const ReviewOptions& options)
    : rules_(std::move(rules)), options_(options) {}

bool Review::add(const Sources& sources, FileId file, std::string_view node, Diagnostics& diagnostics) {
  const std::string_view text = sources.text(file);
  const std::string fallback = node.empty() ? name_of_file(sources.path(file)) : std::string(node);
  const FileKind kind = detect_kind(text);
  const SourceLocation place{file, 0, 0};
  bool read = false;
  switch (kind) {
    case FileKind::log:
      read = add_log(text, fallback);
      break;
    case FileKind::metrics:
    case FileKind::prometheus_answer:
      read = add_metrics(text, fallback, sources.path(file), kind == FileKind::prometheus_answer, diagnostics, place);
      break;
    case FileKind::reports:
      read = add_reports(sources, file, fallback, diagnostics);
      break;
    case FileKind::unknown:
      break;
  }
  if (!read && !diagnostics.has_errors()) {
    diagnostics.error(place,
                      text.empty() ? "the file is empty" : "nothing in it is a line of a log, a metric or a report",
                      "kernel logs (dmesg, journalctl, syslog), metrics of dcgm-exporter and node_exporter, answers of "
                      "Prometheus and JSON reports are read");
  }
  return read;
}

bool Review::add_log(std::string_view text, std::string_view node) {
  bool read = false;
  const std::size_t before = entries_.size();
  const LogClock clock{options_.now, {}};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++lines_;
    read = read || is_log_line(line);
    if (auto signal = read_kernel_line(line, clock)) take(*std::move(signal), node);
  }
  if (read && entries_.size() == before) nodes_.emplace(node, 0);
  return read;
}

bool Review::add_metrics(std::string_view text, std::string_view node, const std::string& name, bool answer,
                         Diagnostics& diagnostics, const SourceLocation& place) {
  const std::string key = answer ? name : std::string(node);
  auto target = targets_.find(key);
  if (target == targets_.end()) {
    const Result<TargetId> added = metrics_.add_target(key);
    if (!added.ok()) {
      diagnostics.error(place, added.error().message);
      return false;
    }
    target = targets_.emplace(key, *added).first;
  }
  const sched::Moment at = options_.now + options_.every * static_cast<std::int64_t>(scrapes_[key]++);
  std::vector<Signal> signals;
  Collector collector(metrics_, signals);
  ReadReport report;
  if (answer) {
    const Result<ReadReport> read = read_prometheus_answer(metrics_, target->second, std::string(text), at, collector);
    if (!read.ok()) {
      diagnostics.error(place, read.error().message);
      return false;
    }
    report = *read;
  } else {
    report = metrics_.read(target->second, text, at, collector);
  }
  if (report.error) diagnostics.warning(place, report.error->message);
  lines_ += report.measurements + report.events + report.ignored;
  for (Signal& signal : signals) take(std::move(signal), node);
  return report.measurements + report.events + report.ignored > 0;
}

bool Review::add_reports(const Sources& sources, FileId file, std::string_view node, Diagnostics& diagnostics) {
  Reports reports = read_reports(sources, file, diagnostics);
  lines_ += reports.signals.size() + reports.steps.size();
  for (Signal& signal : reports.signals) take(std::move(signal), node);
  for (JobStep& step : reports.steps) {
    if (step.at == sched::Moment()) step.at = options_.now;
    last_ = std::max(last_, step.at);
    nodes_.emplace(step.node, 0);
    steps_.push_back(std::move(step));
  }
  return !reports.signals.empty() || !reports.steps.empty();
}

void Review::take(Signal signal, std::string_view node) {
  if (signal.node.empty()) signal.node = node;
  nodes_.emplace(signal.node, 0);
  // Without a time of its own it belongs to what was read before it.
  const sched::Moment at = signal.at != sched::Moment() ? signal.at
                           : entries_.empty()           ? options_.now
                                                        : entries_.back().at;
  last_ = std::max(last_, at);
  entries_.push_back({at, entries_.size(), std::move(signal)});
}

NodeIndex Review::index_of(const std::string& node) const { return nodes_.at(node); }

void Review::judge_jobs() {
  const auto earlier = [](const JobStep& a, const JobStep& b) { return a.at < b.at; };
  std::stable_sort(steps_.begin(), steps_.end(), earlier);
  for (const JobStep& step : steps_) jobs_.add(step);
  const auto note = [&](Signal signal) {
    if (signal.node.empty()) return;
    signal.at = last_;
    monitor_->note(index_of(signal.node), signal, last_);
  };
  for (const StragglerFinding& each : jobs_.suspects()) note(signal_of(each, last_));
  for (const HangFinding& each : jobs_.hangs(last_)) {
    for (Signal& signal : signals_of(each)) note(std::move(signal));
  }
}

void Review::judge() {
  std::vector<std::string> names;
  for (auto& [name, index] : nodes_) {
    index = static_cast<NodeIndex>(names.size());
    names.push_back(name);
  }
  monitor_ = std::make_unique<Monitor>(rules_, names);
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
  sched::Moment looked{};
  for (const Entry& entry : entries_) {
    if (entry.at - looked >= kStep) {
      monitor_->advance(entry.at);
      looked = entry.at;
    }
    monitor_->note(index_of(entry.signal.node), entry.signal, entry.at);
  }
  judge_jobs();
  // The files are all that there is: nothing follows, so every burst has ended.
  const sched::Moment end = last_ + rules_->burst;
  for (NodeIndex i = 0; i < names.size(); ++i) monitor_->heard(i, SignalSource::other, end);
  monitor_->advance(end);
}

HealthState Review::worst() const {
  HealthState worst = HealthState::healthy;
  for (NodeIndex i = 0; i < monitor_->node_count(); ++i) worst = std::max(worst, monitor_->health(i).state);
  return worst;
}

}  // namespace weft::health
