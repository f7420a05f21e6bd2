// Reads the metrics of many targets, scrape after scrape, and turns them into measurements of series and into events.
//
// Made for telemetry of a whole cluster. A scrape repeats the layout of the one before it, so a line is compared with
// the line that stood at this place, and only its value is parsed; a line that moved costs one hash, a new one is
// resolved by its labels. The labels of a GPU, which stand on each of its lines, are stored once per target. Steady
// scrapes allocate nothing, and the order of hash tables is never seen.
//
// Xid errors. DCGM_FI_DEV_XID_ERRORS is the code of the last Xid since the driver was loaded, without its time. A
// change to another code is an event with the time of the scrape; the same code twice in a row is seen once (the
// kernel's log has both). At the first scrape of a target, a code other than 0 may be minutes or months old. It is
// reported all the same (`report_first`), with the detail first_scrape=true: Xids that need a reset or a reboot can
// only still be there if neither happened, since both reload the driver and clear the code, so a GPU that fell off the
// bus while weft was down is not missed; an old code that is harmless costs an entry in a list. Without it, a
// restart of weft would hide every fault of the time it was down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "health/core/signal.h"
#include "health/readers/exposition.h"
#include "health/readers/metric_names.h"
#include "health/readers/text_table.h"
#include "sched/machine/moment.h"

namespace weft::health {

using TargetId = std::uint32_t;
using SeriesId = std::uint32_t;  // dense, in the order of first sight

// What is beyond them is left out, with an error that names the target.
struct MetricLimits {
  std::size_t targets = 65'536;
  std::size_t series = 16'000'000;
  std::size_t series_per_target = 20'000;
  std::size_t lines_per_target = 200'000;  // samples of one scrape
  std::size_t label_bytes = 8192;          // of one sample
  std::size_t label_bytes_per_target = std::size_t{32} << 20U;
  std::size_t names_per_target = 10'000;  // of metrics that mean nothing, first seen at this target
  std::size_t names = 200'000;            // beyond them, such metrics are not remembered
};

struct MetricSettings {
  bool report_first = true;
  MetricLimits limits;
};

// Gets what a scrape says, in the order of its lines.
class MetricSink {
 public:
  MetricSink() = default;
  MetricSink(const MetricSink&) = delete;
  MetricSink& operator=(const MetricSink&) = delete;
  virtual ~MetricSink() = default;
  virtual void measure(SeriesId series, double value, sched::Moment at) = 0;
  virtual void report(Signal event) = 0;
};

struct SeriesView {
  std::string_view signal;  // of events: the family, "xid"
  std::string_view node;    // "": unknown
  std::string_view part;
  TargetId target = 0;
  SignalSource source = SignalSource::other;
};

struct ReadReport {
  std::size_t measurements = 0;
  std::size_t events = 0;
  std::size_t ignored = 0;     // samples that say nothing about health
  std::size_t duplicates = 0;  // of a series in the same scrape (MIG instances, shared GPUs), or not newer than before
  std::size_t absent = 0;      // samples whose source has no value
  std::size_t left_out = 0;    // samples beyond a limit
  std::size_t damaged = 0;     // lines
  bool complete = false;       // the text was not cut off
  std::optional<Error> error;  // the first problem, with target and line
};

class MetricReader {
 public:
  explicit MetricReader(MetricSettings settings = {});

  // `name` is for messages, such as "10.0.0.1:9400". `node` is what the caller knows: it goes before labels. The
  // targets of a Prometheus server's answers may have a larger limit on series.
  [[nodiscard]] Result<TargetId> add_target(std::string_view name, std::string_view node = {},
                                            std::size_t max_series = 0);

  // One scrape. A sample without a timestamp has the time `now`, and none is later than that.
  ReadReport read(TargetId target, std::string_view text, ExpositionFormat format, sched::Moment now, MetricSink& sink);
  // The same for a text without a Content-Type.
  ReadReport read(TargetId target, std::string_view text, sched::Moment now, MetricSink& sink);

  [[nodiscard]] SeriesView series(SeriesId series) const;  // valid until the next read()
  [[nodiscard]] std::size_t series_count() const { return series_.size(); }
  [[nodiscard]] std::size_t target_count() const { return targets_.size(); }
  [[nodiscard]] std::string_view target_name(TargetId target) const { return target_names_.at(target); }
  // A measurement as the signal that rules judge.
  [[nodiscard]] Signal signal(SeriesId series, double value, sched::Moment at) const;

 private:
  // A line of a scrape: what it begins with, and its series.
  struct Line {
    std::uint32_t name;
    std::uint32_t labels;  // kAnyLabels: the metric means nothing, whatever its labels are
    SeriesId series;       // or kIgnored
  };
  struct Target {
    std::string node;
    std::size_t max_series = 0;
    std::size_t series = 0;
    std::size_t names = 0;
    bool was_read = false;
    TextTable labels;
    std::vector<Line> layout;
  };
  struct Series {
    TargetId target = 0;
    std::uint32_t node = 0;
    std::uint32_t part = 0;
    std::uint16_t signal = 0;
    MetricKind kind = MetricKind::measurement;
    bool has_code = false;
    std::int32_t code = 0;  // of events: the last one
    std::uint32_t round = 0;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
  };
  struct Name {
    const MetricMeaning* meaning = nullptr;
    std::uint16_t signal = 0;
  };
  class Scrape;
  static constexpr std::uint32_t kAnyLabels = std::numeric_limits<std::uint32_t>::max();
  static constexpr SeriesId kIgnored = std::numeric_limits<SeriesId>::max();

  [[nodiscard]] std::uint32_t add_name(std::string_view name);
  [[nodiscard]] std::optional<SeriesId> find_series(const Series& wanted) const;
  SeriesId add_series(const Series& series);
  [[nodiscard]] std::size_t series_slot(const Series& wanted) const;

  MetricSettings settings_;
  TextTable target_names_;
  std::vector<Target> targets_;
  TextTable name_texts_;
  std::vector<Name> names_;                    // by number of name_texts_
  std::vector<const MetricMeaning*> signals_;  // by Series::signal: the first metric that has it
  TextTable texts_;                            // nodes and parts
  std::vector<Series> series_;
  std::vector<std::uint32_t> series_slots_;  // open addressing: id + 1, or 0
  std::uint32_t round_ = 0;
  std::vector<Line> next_layout_;            // of the scrape being read; kept for its capacity
  std::vector<std::uint32_t> layout_slots_;  // open addressing: place in the layout + 1, or 0
};

}  // namespace weft::health
