#include "twin/job_times.h"

#include <algorithm>

namespace weft::twin {
namespace {

using sched::Moment;

Duration median(std::vector<Duration> values, Duration fallback) {
  if (values.empty()) return fallback;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<Duration> launch_of(const HistoryAttempt& attempt) {
  if (attempt.cut || attempt.running == sched::kNever) return std::nullopt;
  return attempt.running - attempt.start;
}

// A node that does not answer is not a process that takes long to end.
std::optional<Duration> stop_of(const HistoryAttempt& attempt) {
  if (attempt.stopping == sched::kNever || attempt.ended == sched::kNever || attempt.cut) return std::nullopt;
  const auto is_gone = [](const HistoryPart& part) {
    return part.end == control::PartEnd::off || part.end == control::PartEnd::rebooted;
  };
  if (std::any_of(attempt.parts.begin(), attempt.parts.end(), is_gone)) return std::nullopt;
  return std::max(attempt.ended - attempt.stopping, Duration());
}

void measure_stops(const HistoryJob& job, JobTimes& times) {
  std::vector<Duration> stops;
  std::vector<Duration> verifications;
  for (const HistoryAttempt& attempt : job.attempts) {
    if (const std::optional<Duration> stop = stop_of(attempt)) stops.push_back(*stop);
    if (attempt.verify) verifications.push_back(*attempt.verify);
  }
  if (!stops.empty()) times.stop = median(std::move(stops), {});
  if (!verifications.empty()) times.verify = median(std::move(verifications), {});
}

// Sums over the pairs of neighboring checkpoints of one attempt each.
struct Pace {
  Duration time{};
  Duration stalls{};
  std::int64_t steps = 0;
  std::int64_t pairs = 0;
};

Pace pace_of(const HistoryJob& job) {
  Pace pace;
  for (const HistoryAttempt& attempt : job.attempts) {
    for (std::size_t c = 1; c < attempt.checkpoints.size(); ++c) {
      const HistoryCheckpoint& before = attempt.checkpoints[c - 1];
      const HistoryCheckpoint& after = attempt.checkpoints[c];
      if (after.step <= before.step) continue;
      pace.time += after.at - before.at;
      pace.stalls += after.took;
      pace.steps += after.step - before.step;
      ++pace.pairs;
    }
  }
  return pace;
}

// What the first steps of an attempt do not explain of the time before its first checkpoint.
std::optional<Duration> load_of(const HistoryAttempt& attempt, Duration step) {
  if (attempt.cut || attempt.running == sched::kNever || attempt.checkpoints.empty()) return std::nullopt;
  const HistoryCheckpoint& first = attempt.checkpoints.front();
  const Duration rest = first.at - attempt.running - first.took - step * (first.step - attempt.step);
  return std::max(rest, Duration());
}

// Computing of an attempt from its first step to `until`.
Duration computing(const HistoryAttempt& attempt, const JobTimes& times, Moment until) {
  Moment begin = attempt.running;
  if (!attempt.cut) begin = begin + times.load + (attempt.restored ? times.restore : Duration());
  Duration time = until - begin;
  for (const HistoryCheckpoint& checkpoint : attempt.checkpoints) {
    if (checkpoint.at <= until) time = time - checkpoint.took;
  }
  return std::max(time, Duration());
}

}  // namespace

Duration measure_launch(const History& history) {
  std::vector<Duration> launches;
  for (const HistoryJob& job : history.jobs) {
    for (const HistoryAttempt& attempt : job.attempts) {
      if (const std::optional<Duration> launch = launch_of(attempt)) launches.push_back(*launch);
    }
  }
  return median(std::move(launches), {});
}

JobTimes measure_times(const History& history, const HistoryJob& job, Duration launch) {
  JobTimes times;
  std::vector<Duration> launches;
  std::vector<Duration> stalls;
  for (const HistoryAttempt& attempt : job.attempts) {
    if (const std::optional<Duration> each = launch_of(attempt)) launches.push_back(*each);
    for (const HistoryCheckpoint& checkpoint : attempt.checkpoints) stalls.push_back(checkpoint.took);
  }
  times.launch = median(std::move(launches), launch);
  measure_stops(job, times);
  times.stall = median(std::move(stalls), {});
  if (!history.has_checkpoints) return times;
  const Pace pace = pace_of(job);
  if (pace.pairs == 0) return times;
  times.interval = Duration(pace.time.count() / pace.pairs);
  times.step = Duration(std::max((pace.time - pace.stalls).count() / pace.steps, std::int64_t{1'000'000}));
  std::vector<Duration> fresh;
  std::vector<Duration> restored;
  for (const HistoryAttempt& attempt : job.attempts) {
    if (const std::optional<Duration> load = load_of(attempt, *times.step))
      (attempt.restored ? restored : fresh).push_back(*load);
  }
  const Duration with = median(restored, {});
  times.load = fresh.empty() ? with : median(fresh, {});
  if (!fresh.empty() && !restored.empty()) times.restore = std::max(with - times.load, Duration());
  return times;
}

Duration kept_time(const History& history, const HistoryJob& job, const JobTimes& times, std::size_t position) {
  const HistoryAttempt& attempt = job.attempts[position];
  if (attempt.running == sched::kNever) return {};
  const bool last = position + 1 == job.attempts.size();
  if (last && attempt.ended == sched::kNever) return computing(attempt, times, history.until);
  const bool whole = job.end == control::JobState::done || job.end == control::JobState::canceled;
  if (last && whole) return computing(attempt, times, attempt.ended);
  if (!history.has_checkpoints) {
    const Duration interval = job.spec.checkpoint.interval;
    const Duration time = computing(attempt, times, attempt.ended);
    return interval.count() > 0 ? interval * (time / interval) : Duration();
  }
  const std::int64_t reported = attempt.checkpoints.empty() ? attempt.step : attempt.checkpoints.back().step;
  const std::int64_t kept = last ? reported : job.attempts[position + 1].step;
  if (times.step) return *times.step * (kept - attempt.step);
  if (kept <= attempt.step || attempt.checkpoints.empty()) return {};
  return computing(attempt, times, attempt.checkpoints.back().at);
}

}  // namespace weft::twin
