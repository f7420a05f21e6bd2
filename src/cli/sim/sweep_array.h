// Runs the missing points of a sweep as a job array of an engine, and waits for it. The results file is what counts: an
// array of an earlier call is found by its name and waited for, and points without a result are submitted again by the
// next call. Nothing is concluded from a list that failed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/quantity.h"
#include "base/result.h"
#include "workload/sweep/slurm.h"
#include "workload/sweep/sweep.h"
#include "world/slurm/job_array.h"

namespace weft::cli {

struct ArrayProgress {
  std::uint64_t done = 0;  // points with a result
  std::uint64_t points = 0;
  std::uint64_t running = 0;  // tasks
  std::uint64_t waiting = 0;
};

struct ArrayHooks {
  std::function<void(const std::string&)> note;        // what the user should know
  std::function<void(const ArrayProgress&)> progress;  // after every list
  std::function<bool(Duration)> wait;                  // false: the user interrupts
};

struct ArrayOutcome {
  bool interrupted = false;
  std::uint64_t missing = 0;                  // points without a result although no task runs
  std::map<std::string, std::uint64_t> ends;  // tasks by final state, without COMPLETED
};

// Name of the arrays of this sweep with this results file.
[[nodiscard]] std::string array_name(const workload::Sweep& sweep, const std::string& results);

// `plan` is the array without its name and missing points. With `again`, points that failed are run again.
[[nodiscard]] Result<ArrayOutcome> run_array(world::JobArrays& engine, const workload::Sweep& sweep,
                                             workload::SlurmSweep plan, const std::string& results, bool again,
                                             const ArrayHooks& hooks);

}  // namespace weft::cli
