// Runs candidates in the operations twin: the control plane of `weft serve` against failures, with the seeds of the
// question. The same incidents as `weft twin run` has with the same files and seed.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "explore/candidate.h"
#include "explore/question.h"
#include "twin/twin.h"

namespace weft::explore {

// The run of `weft twin run CLUSTER --job JOB` for a candidate, with an unset seed.
[[nodiscard]] Result<twin::TwinPlan> plan_of(const Question& question, const Candidate& candidate);

// What a run says about the only job of its plan.
[[nodiscard]] Run run_of(const twin::TwinResult& result, const twin::TwinJob& job);

struct SimulateHooks {
  std::function<bool()> go_on;     // from any thread; false: stop, the result is an error
  std::function<void()> finished;  // after each run, from one thread at a time
};

// Fills in the runs of the candidates, one per seed.
Status simulate(const Question& question, const std::vector<Candidate*>& candidates, const SimulateHooks& hooks);

}  // namespace weft::explore
