// What one rank of a job reports after a step: which step it finished, how long it took, and how long the rank itself
// was busy with it. Jobs send such heartbeats (readers/reports.h); judge/straggler.h compares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sched/machine/moment.h"

namespace weft::health {

// What the job does. Steps take longer in `startup` and `checkpoint`, and none may end for a while.
enum class JobPhase : std::uint8_t { compute, checkpoint, startup };

struct JobStep {
  std::string job;
  std::string node;
  std::string stage;  // of a pipeline-parallel job; stages differ in their work: "" if there are none
  std::uint32_t rank = 0;
  std::int64_t step = 0;
  std::optional<double> step_seconds;  // in a synchronous job the same for all ranks
  std::optional<double> busy_seconds;  // without waiting for other ranks
  JobPhase phase = JobPhase::compute;
  sched::Moment at{};  // Moment(): not said
  friend bool operator==(const JobStep&, const JobStep&) = default;
};

}  // namespace weft::health
