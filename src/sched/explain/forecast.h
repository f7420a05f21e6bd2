// Forecast: runs a what-if scheduler forward in virtual time. Every running job ends at its limit, victims stop at the
// end of their grace period, nothing new arrives, no node changes. Returns when a waiting job without a reservation
// starts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/core/scheduler.h"

namespace weft::sched {

enum class ForecastEnd : std::uint8_t {
  started,    // the requested job
  settled,    // no events left
  unlimited,  // the remaining jobs have no limit: their end is unknown
  cut,        // too many events
};

struct Forecast {
  ForecastEnd end = ForecastEnd::settled;
  struct Begin {
    JobId job{};
    Moment at{};
  };
  std::vector<Begin> starts;   // in order of time
  std::vector<Preempt> stops;  // in order of time: victims, by their notices
  std::uint32_t events = 0;
  [[nodiscard]] Moment start_of(JobId job) const;
};

// Runs `what_if` from `now` until `job` starts (none: until no events are left), for at most `most_events` events.
[[nodiscard]] Forecast play_forward(Scheduler& what_if, std::optional<JobId> job, Moment now,
                                    std::uint32_t most_events);
// The same after a decide(now) that returned `decided`.
[[nodiscard]] Forecast play_on(Scheduler& what_if, std::optional<JobId> job, Moment now, std::uint32_t most_events,
                               Decisions decided);

}  // namespace weft::sched
