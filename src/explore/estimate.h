// Closed forms that guide the search: the checkpoint interval to begin with, how many nodes are out of service at a
// time, and a lower bound of the time that a job takes with failures. The twin then simulates what is worth it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "twin/fault_model.h"
#include "twin/twin_job.h"

namespace weft::explore {

// Interruptions per day of a job on this many nodes.
[[nodiscard]] double interruptions_per_day(const twin::FaultModel& faults, double scale, std::int64_t nodes);

// To ten seconds, above ten minutes to whole minutes.
[[nodiscard]] Duration round_interval(Duration interval);
// Daly's interval, rounded, but long enough that one checkpoint is complete well before the next begins.
[[nodiscard]] Duration first_interval(const twin::TwinJob& job, double interruptions_per_day);

// Mean number of nodes that are out of service, of `nodes` in use: rate times mean time out (Little's law). Times that
// people need are those of the fault model.
[[nodiscard]] double mean_nodes_out(const twin::FaultModel& faults, double scale, std::int64_t nodes);
// Numbers of spares that suffice at 50, 80, 95, 99 and 99.9 % of the moments, ascending without repetition. The number
// of nodes out of service is Poisson-distributed if repairs do not wait for each other (Palm's theorem).
[[nodiscard]] std::vector<std::int64_t> spare_counts(double mean_out);

// The start timeout that weft serve needs for the job: its default, or twice the time until the processes run, in whole
// minutes.
[[nodiscard]] Duration start_timeout_for(const twin::TwinJob& job);

// Days that the job takes at least: each interruption costs a restart and half an interval; telemetry and spares cost
// nothing. Infinite if interruptions take all the time.
[[nodiscard]] double optimistic_days(const twin::TwinJob& job, Duration interval, double interruptions_per_day);

}  // namespace weft::explore
