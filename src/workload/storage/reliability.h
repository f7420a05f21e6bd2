// How often long jobs are interrupted, and what that costs: mean time between failures by size, the interval at which
// checkpoints pay best, and the share of time that is useful. Closed formulas of the literature, each with its source;
// nothing here plays failures one by one.
#pragma once

#include <cstdint>

#include "base/quantity.h"

namespace weft::workload {

// Time between failures of a job on `servers` servers that fail independently at `per_1000_node_days`.
[[nodiscard]] Duration mtbf_of(double per_1000_node_days, std::int64_t servers);
// The rate that was seen: `failures` on `servers` servers in `time`.
[[nodiscard]] double failures_per_1000_node_days(double failures, std::int64_t servers, Duration time);
// At least one of `servers` fails, each with probability `p` in the time that is asked about.
[[nodiscard]] double any_failure(double p, std::int64_t servers);

// Work between two checkpoints that loses least. `write` is what one checkpoint costs.
[[nodiscard]] Duration young_interval(Duration write, Duration mtbf);
[[nodiscard]] Duration daly_interval(Duration write, Duration mtbf);
// From the start of one checkpoint to the start of the next for the best availability, where `write` is the time to
// save, `failure` the time to a failure and `restart` the time to be back (NVIDIA, arXiv 2410.18124).
[[nodiscard]] Duration availability_interval(Duration write, Duration failure, Duration restart);

struct Losses {  // shares of the time
  double checkpoints = 0;
  double lost_work = 0;  // since the last checkpoint, done again
  double restarts = 0;
  double effective = 1;  // what is left: goodput, or the effective training time ratio (ETTR)
};
// `interval`: work between two checkpoints. First order: right while `mtbf` is much longer than the other times.
[[nodiscard]] Losses losses_of(Duration interval, Duration write, Duration restart, Duration mtbf);

// Iterations that compute `compute` each and wait for samples that take `read`, loaded ahead: MLPerf Storage's
// accelerator utilization.
[[nodiscard]] double accelerator_utilization(Duration compute, Duration read);

}  // namespace weft::workload
