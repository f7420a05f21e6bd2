// Times of a job, estimated from its history: how long a start, a step and a checkpoint take, and how much of what it
// computed was kept. A journal has neither the start of computing nor the time of a step; both follow from the steps
// and the times of checkpoints.
#pragma once

#include <optional>

#include "twin/history.h"

namespace weft::twin {

struct JobTimes {
  Duration launch{};
  Duration load{};                   // from the start of the processes to the first step
  Duration restore{};                // additionally, to load a checkpoint
  Duration stall{};                  // per checkpoint
  std::optional<Duration> stop;      // from the order until the processes have ended; none: never ordered
  std::optional<Duration> verify;    // of the checkpoints, before a start; none: not seen
  std::optional<Duration> step;      // none: no attempt has two checkpoints
  std::optional<Duration> interval;  // between checkpoints, as they were written
};

// `launch`: of a job whose starts were not seen.
[[nodiscard]] JobTimes measure_times(const History& history, const HistoryJob& job, Duration launch);
// The median of all starts.
[[nodiscard]] Duration measure_launch(const History& history);

// Computing of an attempt that was kept: until its last checkpoint that a later attempt restored, or until the end of
// the job. Negative if a later attempt had to restore an older checkpoint.
[[nodiscard]] Duration kept_time(const History& history, const HistoryJob& job, const JobTimes& times,
                                 std::size_t attempt);

}  // namespace weft::twin
