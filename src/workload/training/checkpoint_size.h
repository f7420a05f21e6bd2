// Size of a training job's checkpoint, and how many ranks write it.
#pragma once

#include <cstdint>

#include "workload/training/training_plan.h"

namespace weft::workload {

struct CheckpointSize {
  Bytes total;                // all ranks together
  std::uint64_t writers = 1;  // ranks that write a part of their own
};
[[nodiscard]] CheckpointSize checkpoint_size(const TrainingPlan& plan);

}  // namespace weft::workload
