#include "health/readers/metric_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace weft::health {
namespace {

using sched::Moment;
using Item = ExpositionReader::Item;

constexpr std::size_t kLookAhead = 64;  // lines, for a metric that means nothing

std::size_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t hash = (a ^ (b * 0x9E3779B97F4A7C15U)) * 0xD6E8FEB86659FD93U;
  hash ^= hash >> 32U;
  return hash * 0xD6E8FEB86659FD93U >> 16U;
}

// A power of two of which `count` fill half at most.
std::size_t slots_for(std::size_t count) {
  std::size_t slots = 16;
  while (slots < 2 * count) slots *= 2;
  return slots;
}

}  // namespace

// One scrape of one target.
class MetricReader::Scrape {
 public:
  Scrape(MetricReader& reader, TargetId id, std::string_view text, ExpositionFormat format, Moment now,
         MetricSink& sink)
      : reader_(reader), target_(reader.targets_[id]), id_(id), lines_(text, format), now_(now), sink_(sink) {}

  ReadReport run() {
    ++reader_.round_;
    while (take_expected() || take_next()) {
    }
    report_.damaged = lines_.damaged();
    report_.complete = lines_.is_complete();
    if (!report_.complete) note("the text is incomplete");
    if (place_ < target_.layout.size()) diverge();
    if (changed_) keep_layout();
    if (taken_ > 0) target_.was_read = true;
    return std::move(report_);
  }

 private:
  void note(std::string message) {
    if (report_.error) return;
    report_.error = Error{ErrorCode::invalid_input, std::move(message),
                          fmt::format("{}:{}", reader_.target_name(id_), lines_.line())};
  }

  // The line that stood here in the last scrape. False: another one stands here now.
  bool take_expected() {
    if (place_ == target_.layout.size()) return false;
    const Line line = target_.layout[place_];
    const std::string_view name = reader_.name_texts_.at(line.name);
    if (line.labels == kAnyLabels) {
      if (!lines_.skip_if(name)) return false;
      ++report_.ignored;
    } else {
      const Item item = lines_.next_if(name, target_.labels.at(line.labels));
      if (item == Item::other) return false;
      if (item == Item::damaged) {
        note(lines_.problem());
      } else {
        deliver(line.series);
      }
    }
    ++taken_;
    ++place_;
    if (changed_) reader_.next_layout_.push_back(line);
    return true;
  }

  // Any other line. False: the end.
  bool take_next() {
    const Item item = lines_.next();
    if (item == Item::end) return false;
    if (item == Item::damaged) {
      note(lines_.problem());
      return true;
    }
    if (++taken_ > reader_.settings_.limits.lines_per_target) {
      leave_out(fmt::format("more than {} samples", reader_.settings_.limits.lines_per_target));
      return false;
    }
    diverge();
    if (const std::optional<Line> line = resolve(lines_.sample())) {
      reader_.next_layout_.push_back(*line);
      if (line->labels == kAnyLabels) {
        ++report_.ignored;
      } else {
        deliver(line->series);
      }
    }
    return true;
  }

  void leave_out(std::string problem) {
    ++report_.left_out;
    note(std::move(problem));
  }

  // From here on, the layout differs from that of the last scrape.
  void diverge() {
    if (changed_) return;
    changed_ = true;
    const std::vector<Line>& layout = target_.layout;
    reader_.next_layout_.assign(layout.begin(), layout.begin() + static_cast<std::ptrdiff_t>(place_));
    if (place_ == layout.size()) return;
    indexed_ = true;
    reader_.layout_slots_.assign(slots_for(layout.size()), 0);
    for (std::uint32_t i = 0; i < layout.size(); ++i) {
      if (layout[i].labels == kAnyLabels) continue;
      std::uint32_t& slot = reader_.layout_slots_[layout_slot(layout[i])];
      if (slot == 0) slot = i + 1;
    }
  }

  // The slot of the line with this name and labels, or the empty one where it belongs.
  [[nodiscard]] std::size_t layout_slot(const Line& wanted) const {
    const std::vector<std::uint32_t>& slots = reader_.layout_slots_;
    const std::size_t mask = slots.size() - 1;
    std::size_t slot = mix(wanted.name, wanted.labels) & mask;
    const auto differs = [&](const Line& line) { return line.name != wanted.name || line.labels != wanted.labels; };
    while (slots[slot] != 0 && differs(target_.layout[slots[slot] - 1])) slot = (slot + 1) & mask;
    return slot;
  }

  // nullopt: the sample is beyond a limit.
  std::optional<Line> resolve(const MetricSample& sample) {
    const MetricLimits& limits = reader_.settings_.limits;
    if (sample.name.size() > limits.label_bytes || sample.labels.size() > limits.label_bytes) {
      leave_out(fmt::format("a sample has more than {} bytes of labels", limits.label_bytes));
      return std::nullopt;
    }
    if (!reader_.name_texts_.find(sample.name)) {
      if (target_.names >= limits.names_per_target) {
        leave_out(fmt::format("more than {} names of metrics", limits.names_per_target));
        return std::nullopt;
      }
      if (reader_.name_texts_.size() >= limits.names) {
        ++report_.ignored;
        return std::nullopt;
      }
      ++target_.names;
    }
    Line line{reader_.add_name(sample.name), kAnyLabels, kIgnored};
    if (reader_.names_[line.name].meaning == nullptr) {
      skip_to_ignored(line.name);
      return line;
    }
    if (target_.labels.bytes() + sample.labels.size() > limits.label_bytes_per_target) {
      leave_out(fmt::format("more than {} bytes of labels", limits.label_bytes_per_target));
      return std::nullopt;
    }
    line.labels = target_.labels.add(sample.labels);
    if (find_in_layout(line)) return line;
    const std::optional<SeriesId> series = resolve_series(reader_.names_[line.name], sample.labels);
    if (!series) return std::nullopt;
    line.series = *series;
    return line;
  }

  // Goes on behind the next line of this metric, if it is near.
  void skip_to_ignored(std::uint32_t name) {
    const std::size_t stop = std::min(target_.layout.size(), place_ + kLookAhead);
    for (std::size_t i = place_; i < stop; ++i) {
      if (target_.layout[i].name != name || target_.layout[i].labels != kAnyLabels) continue;
      place_ = i + 1;
      return;
    }
  }

  // Sets the series of a line that the last scrape had elsewhere, and goes on behind it.
  bool find_in_layout(Line& line) {
    if (!indexed_) return false;
    const std::uint32_t found = reader_.layout_slots_[layout_slot(line)];
    if (found == 0) return false;
    line.series = target_.layout[found - 1].series;
    place_ = found;
    return true;
  }

  // nullopt: beyond a limit. kIgnored: these labels mean nothing.
  std::optional<SeriesId> resolve_series(const Name& name, std::string_view labels) {
    const std::optional<MetricPlace> place = find_place(*name.meaning, labels);
    if (!place) return kIgnored;
    const std::string_view node = target_.node.empty() ? std::string_view(place->node) : target_.node;
    const std::optional<std::uint32_t> node_text = reader_.texts_.find(node);
    const std::optional<std::uint32_t> part_text = reader_.texts_.find(place->part);
    Series series;
    series.target = id_;
    series.signal = name.signal;
    series.kind = name.meaning->kind;
    if (node_text && part_text) {
      series.node = *node_text;
      series.part = *part_text;
      if (const std::optional<SeriesId> found = reader_.find_series(series)) return found;
    }
    const std::size_t all = reader_.settings_.limits.series;
    if (target_.series >= target_.max_series || reader_.series_.size() >= all) {
      leave_out(target_.series >= target_.max_series ? fmt::format("more than {} series", target_.max_series)
                                                     : fmt::format("more than {} series of all targets", all));
      return std::nullopt;
    }
    series.node = reader_.texts_.add(node);
    series.part = reader_.texts_.add(place->part);
    ++target_.series;
    return reader_.add_series(series);
  }

  void deliver(SeriesId id) {
    if (id == kIgnored) {
      ++report_.ignored;
      return;
    }
    const MetricSample& sample = lines_.sample();
    Series& series = reader_.series_[id];
    const Moment at = sample.at ? std::min(*sample.at, now_) : now_;
    if (at.count() <= series.last && (sample.at || series.round == reader_.round_)) {
      ++report_.duplicates;
      return;
    }
    series.round = reader_.round_;
    series.last = at.count();
    const std::optional<double> value = decode_value(series.kind, sample.value);
    if (!value) {
      ++report_.absent;
    } else if (series.kind == MetricKind::last_xid || series.kind == MetricKind::last_sxid) {
      take_code(series, *value, at);
    } else {
      ++report_.measurements;
      sink_.measure(id, *value, at);
    }
  }

  void take_code(Series& series, double value, Moment at) {
    if (value < 0 || value > 1e9 || value != std::floor(value)) {
      ++report_.absent;
      return note(fmt::format("{} is not an error code", value));
    }
    const auto code = static_cast<std::int32_t>(value);
    const bool changed = !series.has_code || code != series.code;
    const bool first = !target_.was_read;
    series.has_code = true;
    series.code = code;
    if (!changed || code == 0 || (first && !reader_.settings_.report_first)) return;
    const MetricMeaning& meaning = *reader_.signals_[series.signal];
    Signal event;
    event.name = fmt::format("{}:{}", meaning.signal, code);
    event.node = reader_.texts_.at(series.node);
    event.part = reader_.texts_.at(series.part);
    event.at = at;
    event.text = fmt::format("{} {}", lines_.sample().name, code);
    if (series.kind == MetricKind::last_sxid) event.details.push_back({"severity", "fatal"});  // DCGM's field 856
    if (first) event.details.push_back({"first_scrape", "true"});
    event.source = meaning.source;
    ++report_.events;
    sink_.report(std::move(event));
  }

  // Only the labels of this scrape are kept.
  void keep_layout() {
    TextTable labels;
    for (Line& line : reader_.next_layout_) {
      if (line.labels != kAnyLabels) line.labels = labels.add(target_.labels.at(line.labels));
    }
    labels.shrink_to_fit();
    target_.labels = std::move(labels);
    target_.layout.assign(reader_.next_layout_.begin(), reader_.next_layout_.end());
    target_.layout.shrink_to_fit();
  }

  MetricReader& reader_;
  Target& target_;
  TargetId id_;
  ExpositionReader lines_;
  Moment now_;
  MetricSink& sink_;
  ReadReport report_;
  std::size_t place_ = 0;  // in the layout of the last scrape
  std::size_t taken_ = 0;  // samples
  bool changed_ = false;
  bool indexed_ = false;  // layout_slots_ is of the last scrape of this target
};

MetricReader::MetricReader(MetricSettings settings) : settings_(settings) {
  // Those that mean something are always known, whatever else targets have.
  for (const MetricMeaning& each : known_metrics()) (void)add_name(each.metric);
}

Result<TargetId> MetricReader::add_target(std::string_view name, std::string_view node, std::size_t max_series) {
  if (target_names_.find(name)) {
    return Error{ErrorCode::conflict, "there is a target of this name", std::string(name)};
  }
  if (targets_.size() >= settings_.limits.targets) {
    return Error{ErrorCode::invalid_input, fmt::format("more than {} targets", settings_.limits.targets),
                 std::string(name)};
  }
  Target target;
  target.node = node;
  target.max_series = max_series == 0 ? settings_.limits.series_per_target : max_series;
  targets_.push_back(std::move(target));
  return target_names_.add(name);
}

ReadReport MetricReader::read(TargetId target, std::string_view text, ExpositionFormat format, Moment now,
                              MetricSink& sink) {
  CHECK(target < targets_.size(), "no such target");
  return Scrape(*this, target, text, format, now, sink).run();
}

ReadReport MetricReader::read(TargetId target, std::string_view text, Moment now, MetricSink& sink) {
  return read(target, text, guess_exposition_format(text), now, sink);
}

std::uint32_t MetricReader::add_name(std::string_view text) {
  const std::uint32_t number = name_texts_.add(text);
  if (number < names_.size()) return number;
  Name name{find_metric(text), 0};
  if (name.meaning != nullptr) {
    const auto same = [&](const MetricMeaning* each) { return each->signal == name.meaning->signal; };
    const auto found = std::find_if(signals_.begin(), signals_.end(), same);
    name.signal = static_cast<std::uint16_t>(found - signals_.begin());
    if (found == signals_.end()) signals_.push_back(name.meaning);
  }
  names_.push_back(name);
  return number;
}

// The slot of the series of this target, signal, node and part, or the empty one where it belongs.
std::size_t MetricReader::series_slot(const Series& wanted) const {
  const std::size_t mask = series_slots_.size() - 1;
  const auto key = [](const Series& each) { return std::tuple(each.target, each.signal, each.node, each.part); };
  const auto half = [](std::uint64_t high, std::uint64_t low) { return (high << 32U) | low; };
  std::size_t slot = mix(half(wanted.target, wanted.signal), half(wanted.node, wanted.part)) & mask;
  while (series_slots_[slot] != 0 && key(series_[series_slots_[slot] - 1]) != key(wanted)) slot = (slot + 1) & mask;
  return slot;
}

std::optional<SeriesId> MetricReader::find_series(const Series& wanted) const {
  if (series_slots_.empty()) return std::nullopt;
  const std::uint32_t found = series_slots_[series_slot(wanted)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

SeriesId MetricReader::add_series(const Series& series) {
  if (4 * (series_.size() + 1) > 3 * series_slots_.size()) {
    series_slots_.assign(std::max<std::size_t>(16, 2 * series_slots_.size()), 0);
    for (SeriesId i = 0; i < series_.size(); ++i) series_slots_[series_slot(series_[i])] = i + 1;
  }
  const std::size_t slot = series_slot(series);
  series_.push_back(series);
  series_slots_[slot] = static_cast<std::uint32_t>(series_.size());
  return static_cast<SeriesId>(series_.size() - 1);
}

SeriesView MetricReader::series(SeriesId series) const {
  CHECK(series < series_.size(), "no such series");
  const Series& each = series_[series];
  const MetricMeaning& meaning = *signals_[each.signal];
  return {meaning.signal, texts_.at(each.node), texts_.at(each.part), each.target, meaning.source};
}

Signal MetricReader::signal(SeriesId id, double value, Moment at) const {
  const SeriesView view = series(id);
  Signal signal;
  signal.name = view.signal;
  signal.node = view.node;
  signal.part = view.part;
  signal.value = value;
  signal.at = at;
  signal.source = view.source;
  return signal;
}

}  // namespace weft::health
