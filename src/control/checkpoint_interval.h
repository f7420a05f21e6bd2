// Checkpoint interval that minimizes lost time: Daly's higher-order estimate (J. T. Daly, Future Generation Computer
// Systems 22, 2006, equation 37), which for rare failures is Young's sqrt(2 C M) (1974).
#pragma once

#include <cstddef>

#include "base/quantity.h"

namespace weft::control {

// `write_time`: one checkpoint; `interruptions` per 1,000 node-days; `nodes` of the job. At least one second.
[[nodiscard]] Duration checkpoint_interval(Duration write_time, double interruptions, std::size_t nodes);

}  // namespace weft::control
