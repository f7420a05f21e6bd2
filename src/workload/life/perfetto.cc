#include "workload/life/perfetto.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quoting.h"
#include "base/text.h"
#include "workload/life/perfetto_lanes.h"

namespace weft::workload {
namespace {

class TraceWriter {
 public:
  explicit TraceWriter(const LifeResult& life)
      : life_(life), timeline_(life.timeline), placed_(place_spans(timeline_)) {
    out_.reserve(4096 + 110 * placed_.size());
    for (const std::string& name : timeline_.names) names_.push_back(json_quote(name));
    number_processes();
    number_threads();
  }

  std::string write() {
    out_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"cluster\":" + json_quote(life_.cluster) +
           ",\"job\":" + json_quote(life_.job) + ",\"model\":" + json_quote(life_.model) +
           fmt::format(",\"trace_hash\":\"{:016x}\"", life_.trace_hash) + "},\"traceEvents\":[";
    metadata();
    states();
    spans();
    counters();
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  // The states of the job are shown above everything else.
  static constexpr std::uint32_t kStates = 1;

  void number_processes() {
    std::vector<std::string> found;
    std::map<std::string, std::size_t> seen;
    const auto note = [&](const std::string& process) {
      if (seen.emplace(process, found.size()).second) found.push_back(process);
    };
    for (const TimelineTrack& track : timeline_.tracks) note(track.process);
    for (const TimelineCounter& counter : timeline_.counters) note(counter.process);
    std::stable_sort(found.begin(), found.end(),
                     [](const std::string& a, const std::string& b) { return process_rank(a) < process_rank(b); });
    processes_ = std::move(found);
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      pids_.emplace(processes_[i], kStates + 1 + static_cast<std::uint32_t>(i));
    }
  }

  // Thread numbers follow the display order; a track has one per lane.
  void number_threads() {
    lanes_.assign(timeline_.tracks.size(), 1);
    for (const PlacedSpan& span : placed_) {
      std::uint32_t& lanes = lanes_[timeline_.spans[span.span].track];
      lanes = std::max(lanes, span.lane + 1);
    }
    std::vector<std::uint32_t> order(timeline_.tracks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return thread_rank(timeline_.tracks[a].thread) < thread_rank(timeline_.tracks[b].thread);
    });
    tids_.assign(timeline_.tracks.size(), 0);
    std::uint32_t next = 1;
    for (const std::uint32_t track : order) {
      tids_[track] = next;
      next += lanes_[track];
    }
  }

  [[nodiscard]] std::uint32_t pid_of(const std::string& process) const { return pids_.find(process)->second; }

  void open_event() {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
  }

  void meta(std::string_view what, std::uint32_t pid, std::uint32_t tid, std::string_view argument) {
    open_event();
    append_format(out_, R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}}}})", what, pid, tid, argument);
  }

  void process(std::uint32_t pid, std::string_view name, std::uint32_t sort) {
    meta("process_name", pid, 0, "\"name\":" + json_quote(name));
    meta("process_sort_index", pid, 0, fmt::format("\"sort_index\":{}", sort));
  }

  void metadata() {
    process(kStates, "job " + life_.job, 0);
    meta("thread_name", kStates, 1, "\"name\":\"states\"");
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      process(pid_of(processes_[i]), processes_[i], static_cast<std::uint32_t>(i + 1));
    }
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      const TimelineTrack& track = timeline_.tracks[i];
      const std::uint32_t pid = pid_of(track.process);
      for (std::uint32_t lane = 0; lane < lanes_[i]; ++lane) {
        const std::string name = lane == 0 ? track.thread : fmt::format("{} ({})", track.thread, lane + 1);
        meta("thread_name", pid, tids_[i] + lane, "\"name\":" + json_quote(name));
        meta("thread_sort_index", pid, tids_[i] + lane, fmt::format("\"sort_index\":{}", tids_[i] + lane));
      }
    }
  }

  // Nanoseconds as microseconds with three decimals.
  void append_us(std::int64_t ns) {
    if (ns < 0) out_ += '-';
    const auto size = static_cast<std::uint64_t>(std::abs(ns));
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}.{:03}"), size / 1000, size % 1000);
  }

  void span(std::string_view quoted_name, std::uint32_t pid, std::uint32_t tid, std::int64_t start, std::int64_t end) {
    open_event();
    out_ += "{\"ph\":\"X\",\"name\":";
    out_ += quoted_name;
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE(",\"pid\":{},\"tid\":{},\"ts\":"), pid, tid);
    append_us(start);
    out_ += ",\"dur\":";
    append_us(end - start);
    out_ += '}';
  }

  // States follow each other: each one is cut off at the start of the next.
  void states() {
    for (std::size_t i = 0; i < life_.states.size(); ++i) {
      const LifeState& state = life_.states[i];
      if (state.duration.count() <= 0) continue;
      SimTime end = state.start + state.duration;
      for (std::size_t k = i + 1; k < life_.states.size(); ++k) {
        if (life_.states[k].duration.count() > 0) end = std::min(end, std::max(state.start, life_.states[k].start));
      }
      span(json_quote(fmt::format("{}. {}", state.number, state.name)), kStates, 1, state.start.count() / 1000,
           end.count() / 1000);
    }
  }

  void spans() {
    for (const PlacedSpan& placed : placed_) {
      const TimelineSpan& one = timeline_.spans[placed.span];
      span(names_[one.name], pid_of_track(one.track), tids_[one.track] + placed.lane, placed.start_ns, placed.end_ns);
    }
  }

  // Spans are sorted by track: one map lookup per track.
  std::uint32_t pid_of_track(std::uint32_t track) {
    if (track != last_track_ || last_pid_ == 0) {
      last_track_ = track;
      last_pid_ = pid_of(timeline_.tracks[track].process);
    }
    return last_pid_;
  }

  void counters() {
    for (const TimelineCounter& counter : timeline_.counters) {
      const std::string start =
          fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":)", json_quote(counter.name), pid_of(counter.process));
      const std::string unit = ",\"args\":{" + json_quote(counter.unit.empty() ? "value" : counter.unit) + ":";
      for (const auto& [at, value] : counter.points) {
        if (!std::isfinite(value)) continue;
        open_event();
        out_ += start;
        append_us(at.count() / 1000);
        out_ += unit;
        fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
        out_ += "}}";
      }
    }
  }

  const LifeResult& life_;
  const Timeline& timeline_;
  std::vector<PlacedSpan> placed_;
  std::vector<std::string> names_;      // quoted
  std::vector<std::string> processes_;  // from top to bottom
  std::map<std::string, std::uint32_t> pids_;
  std::vector<std::uint32_t> tids_;   // first lane of each track
  std::vector<std::uint32_t> lanes_;  // per track
  std::uint32_t last_track_ = 0;
  std::uint32_t last_pid_ = 0;
  bool first_ = true;
  std::string out_;
};

}  // namespace

std::string perfetto_trace(const LifeResult& life) { return TraceWriter(life).write(); }

}  // namespace weft::workload
