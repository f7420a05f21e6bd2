// Memory of one GPU of the fullest stage: weights, gradients, optimizer states, activations in flight, buffers, as an
// estimate with the framework's defaults and as a lower bound. If the job does not fit, lists changes that would make
// it fit.
#pragma once

#include <string>
#include <vector>

#include "workload/result/life.h"
#include "workload/training/training_plan.h"

namespace weft::workload {

// What a GPU with `capacity` of the datasheet offers to a program. Datasheets count GiB as GB.
[[nodiscard]] Bytes usable_memory(Bytes capacity);

// `capacity` as in the datasheet.
[[nodiscard]] MemoryUse memory_of(const TrainingPlan& plan, Bytes capacity);

// Bytes of activations that one layer keeps for its backward pass, for one micro-batch on one GPU.
[[nodiscard]] double layer_activations(const TrainingPlan& plan, bool mixture);

// Single changes that make the job fit, in terms of job file keys, mildest first; empty if no single change is enough.
[[nodiscard]] std::vector<std::string> what_would_fit(const TrainingPlan& plan, Bytes capacity);

}  // namespace weft::workload
