// How often long jobs are interrupted, and the cost: mean time between failures by size, the optimal checkpoint
// interval, and the share of useful time. Closed formulas from the literature, each with its source; individual
// failures are not simulated.
#pragma once

#include <cstdint>

#include "base/quantity.h"

namespace weft::workload {

// Time between failures of a job on `servers` servers that fail independently at `per_1000_node_days`.
[[nodiscard]] Duration mtbf_of(double per_1000_node_days, std::int64_t servers);
// The observed rate: `failures` on `servers` servers in `time`.
[[nodiscard]] double failures_per_1000_node_days(double failures, std::int64_t servers, Duration time);
// Probability that at least one of `servers` fails, each with probability `p` in the period.
[[nodiscard]] double any_failure(double p, std::int64_t servers);

// Work between two checkpoints that minimizes the loss. `write` is the cost of one checkpoint.
[[nodiscard]] Duration young_interval(Duration write, Duration mtbf);
[[nodiscard]] Duration daly_interval(Duration write, Duration mtbf);
// Time from the start of one checkpoint to the start of the next that maximizes availability; `write` is the time to
// save, `failure` the time to a failure and `restart` the recovery time (NVIDIA, arXiv 2410.18124).
[[nodiscard]] Duration availability_interval(Duration write, Duration failure, Duration restart);

struct Losses {  // shares of the time
  double checkpoints = 0;
  double lost_work = 0;  // since the last checkpoint, repeated
  double restarts = 0;
  double effective = 1;  // the rest: goodput, or the effective training time ratio (ETTR)
};
// `interval`: work between two checkpoints. First order: accurate while `mtbf` is much longer than the other times.
[[nodiscard]] Losses losses_of(Duration interval, Duration write, Duration restart, Duration mtbf);

// Utilization of iterations that compute for `compute` and wait for prefetched samples that take `read`: MLPerf
// Storage's accelerator utilization.
[[nodiscard]] double accelerator_utilization(Duration compute, Duration read);

}  // namespace weft::workload
