// The timeline of a job: states 1 and 2 as events, then one iteration with the streams of one GPU per stage, the
// fabrics, storage and the control plane.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "workload/life/internal.h"

namespace weft::workload {
namespace {

constexpr std::size_t kMaxStages = 16;      // shown
constexpr std::size_t kMaxSpans = 400'000;  // beyond it each pass is one span

class TimelineMaker {
 public:
  TimelineMaker(const LifeParts& parts, LifeResult& life) : parts_(parts), life_(life), made_(life.timeline) {}

  void make() {
    for (const int number : {1, 2}) events(life_.states[static_cast<std::size_t>(number - 1)]);
    made_.iteration_start = life_.states[2].start;
    stages();
    for (const int number : {3, 4, 5}) events(life_.states[static_cast<std::size_t>(number - 1)]);
    made_.iteration_end = life_.states[4].start + life_.states[4].duration;
    counters();
    std::stable_sort(made_.spans.begin(), made_.spans.end(), [](const TimelineSpan& a, const TimelineSpan& b) {
      return a.track != b.track ? a.track < b.track : a.start < b.start;
    });
  }

 private:
  std::uint32_t track(const std::string& process, const std::string& thread) {
    const auto [found, fresh] = tracks_.try_emplace({process, thread}, static_cast<std::uint32_t>(made_.tracks.size()));
    if (fresh) made_.tracks.push_back({process, thread});
    return found->second;
  }
  std::uint32_t name(const std::string& text) {
    const auto [found, fresh] = names_.try_emplace(text, static_cast<std::uint32_t>(made_.names.size()));
    if (fresh) made_.names.push_back(text);
    return found->second;
  }
  void span(std::uint32_t on, std::uint32_t called, SimTime start, SimTime duration) {
    if (duration > SimTime(0)) made_.spans.push_back({on, called, start, duration});
  }

  void events(const LifeState& state) {
    for (const LifeEvent& event : state.events) {
      const bool iteration = state.number >= 3;
      if (iteration && event.medium == Medium::host) continue;  // shown as streams
      std::string process = fmt::format("{} fabric", to_text(event.medium));
      if (event.medium == Medium::nvlink) process = "NVLink";
      if (event.medium == Medium::host) process = "control plane";
      span(track(process, event.protocol), name(event.what), event.start, event.duration);
    }
  }

  void stages() {
    const StepTimes& step = parts_.step;
    const SimTime start = made_.iteration_start + life_.parts.input;
    std::size_t spans = 0;
    for (std::size_t s = 0; s < step.pipeline.stages.size() && s < kMaxStages; ++s) {
      for (const Pass& pass : step.pipeline.stages[s]) spans += piece_of(s, pass).spans.size();
    }
    const bool whole = spans > kMaxSpans;
    for (std::size_t s = 0; s < step.pipeline.stages.size() && s < kMaxStages; ++s) {
      const std::string process = fmt::format("GPU of stage {}", s);
      const std::uint32_t compute = track(process, "compute stream");
      const char* const kThreads[] = {"compute stream", "NCCL tensor", "NCCL context",
                                      "NCCL expert",    "NCCL data",   "NCCL replica"};
      for (const Pass& pass : step.pipeline.stages[s]) {
        const PieceTimes& piece = piece_of(s, pass);
        if (whole) {
          span(compute, name(fmt::format("{} of chunk {}", pass.backward ? "backward" : "forward", pass.chunk)),
               start + pass.start, pass.end - pass.start);
          continue;
        }
        for (const PieceSpan& one : piece.spans) {
          span(track(process, kThreads[one.stream]), name(piece.names[one.name]), start + pass.start + one.start,
               one.duration);
        }
      }
      const SimTime optimizer = start + step.parts.step - step.optimizer_time;
      span(compute, name("optimizer"), optimizer, step.optimizer_time);
      if (life_.parts.input > SimTime(0))
        span(compute, name("waits for samples"), made_.iteration_start, life_.parts.input);
    }
  }

  const PieceTimes& piece_of(std::size_t stage, const Pass& pass) const {
    const std::size_t at = pass.chunk * static_cast<std::size_t>(parts_.plan.pipeline) + stage;
    return pass.backward ? parts_.step.backward[at] : parts_.step.forward[at];
  }

  void counters() {
    for (const Medium medium : {Medium::backend, Medium::storage, Medium::frontend, Medium::nvlink}) {
      TimelineCounter counter;
      counter.process = medium == Medium::nvlink ? "NVLink" : fmt::format("{} fabric", to_text(medium));
      counter.name = "mean use of the job's links";
      counter.unit = "%";
      for (const LifeState& state : life_.states) {
        counter.points.emplace_back(state.start, 100 * state.use[static_cast<std::size_t>(medium)].mean);
      }
      counter.points.emplace_back(made_.iteration_end, 0);
      made_.counters.push_back(std::move(counter));
    }
  }

  const LifeParts& parts_;
  LifeResult& life_;
  Timeline& made_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> tracks_;
  std::map<std::string, std::uint32_t> names_;
};

}  // namespace

void add_timeline(const LifeParts& parts, LifeResult& life) { TimelineMaker(parts, life).make(); }

}  // namespace weft::workload
