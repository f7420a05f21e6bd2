// What one GPU of the fullest stage holds: weights, gradients, optimizer states, activations in flight, buffers. Says
// what would fit when it does not.
#pragma once

#include <string>
#include <vector>

#include "workload/result/life.h"
#include "workload/training/training_plan.h"

namespace weft::workload {

// `capacity` as the datasheet has it.
[[nodiscard]] MemoryUse memory_of(const TrainingPlan& plan, Bytes capacity);

// Bytes of activations that one layer keeps for its backward pass, for one micro-batch on one GPU.
[[nodiscard]] double layer_activations(const TrainingPlan& plan, bool mixture);

// Single changes that make the job fit, in the words of a job file, mildest first; empty when none alone does.
[[nodiscard]] std::vector<std::string> what_would_fit(const TrainingPlan& plan, Bytes capacity);

}  // namespace weft::workload
