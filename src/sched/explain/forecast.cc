#include "sched/explain/forecast.h"

#include <algorithm>

namespace weft::sched {

Moment Forecast::start_of(JobId job) const {
  const auto found = std::find_if(starts.begin(), starts.end(), [&](const Begin& begin) { return begin.job == job; });
  return found == starts.end() ? kNever : found->at;
}

Forecast play_forward(Scheduler& what_if, std::optional<JobId> job, Moment now, std::uint32_t most_events) {
  return play_on(what_if, job, now, most_events, what_if.decide(now));
}

Forecast play_on(Scheduler& what_if, std::optional<JobId> job, Moment now, std::uint32_t most_events,
                 Decisions decided) {
  Forecast forecast;
  Decisions decisions = std::move(decided);
  for (;; ++forecast.events) {
    if (forecast.events > 0) decisions = what_if.decide(now);
    for (const Start& start : decisions.starts) forecast.starts.push_back({start.job, now});
    forecast.stops.insert(forecast.stops.end(), decisions.preempts.begin(), decisions.preempts.end());
    if (job && what_if.record(*job).phase == JobPhase::running) {
      forecast.end = ForecastEnd::started;
      return forecast;
    }
    if (what_if.waiting_count() == 0) return forecast;
    if (forecast.events >= most_events) {
      forecast.end = ForecastEnd::cut;
      return forecast;
    }
    const auto ending = what_if.next_end();
    Moment next = what_if.next_wake(now);
    if (ending) {
      // A victim stops at its deadline; a job past its limit can end at any moment, but has not ended yet.
      const bool stops = what_if.record(ending->second).phase == JobPhase::stopping;
      next = std::min(next, std::max(ending->first, stops ? now : now + Duration(1)));
    }
    if (next == kNever) {
      if (ending) forecast.end = ForecastEnd::unlimited;
      return forecast;
    }
    now = next;
    for (auto gone = what_if.next_end(); gone && gone->first <= now; gone = what_if.next_end()) {
      if (what_if.record(gone->second).phase == JobPhase::stopping) {
        what_if.stopped(gone->second, now);
      } else {
        what_if.finish(gone->second, now);
      }
    }
  }
}

}  // namespace weft::sched
