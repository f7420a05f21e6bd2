// A what-if scheduler played forward in virtual time: every running job ends at its limit, victims stop at the end of
// their grace, nothing new arrives, no node changes. Gives the moment at which a waiting job starts when no reservation
// says it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/core/scheduler.h"

namespace weft::sched {

enum class ForecastEnd : std::uint8_t {
  started,    // the job that was asked for
  settled,    // nothing is left to happen
  unlimited,  // what still runs has no limit: when it ends is not known
  cut,        // too many events
};

struct Forecast {
  ForecastEnd end = ForecastEnd::settled;
  struct Begin {
    JobId job{};
    Moment at{};
  };
  std::vector<Begin> starts;   // in order of time
  std::vector<Preempt> stops;  // likewise: victims by the notices they got
  std::uint32_t events = 0;
  [[nodiscard]] Moment start_of(JobId job) const;
};

// Plays `what_if` on from `now` until `job` starts (none: until nothing is left), in at most `most_events` steps.
[[nodiscard]] Forecast play_forward(Scheduler& what_if, std::optional<JobId> job, Moment now,
                                    std::uint32_t most_events);
// The same after a decide(now) that gave `decided`.
[[nodiscard]] Forecast play_on(Scheduler& what_if, std::optional<JobId> job, Moment now, std::uint32_t most_events,
                               Decisions decided);

}  // namespace weft::sched
