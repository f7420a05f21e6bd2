// A training job of the twin from its simulated timeline: what a step, a start, a restore and a checkpoint take on the
// fabrics of a cluster. One conversion for `weft twin run --job` and for the search of designs.
#pragma once

#include "model/job.h"
#include "twin/twin_job.h"
#include "workload/result/life.h"

namespace weft::twin {

// Fills in what the twin gives every job that no engine starts: a command, a checkpoint volume, and a limit of failures
// that a run of months does not reach.
void prepare_job(TwinJob& job);

// `spec` is the job of `life`, with a training section.
[[nodiscard]] TwinJob job_from_life(const workload::LifeResult& life, const model::JobSpec& spec);

}  // namespace weft::twin
