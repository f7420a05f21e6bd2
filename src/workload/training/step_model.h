// One training step: the pieces of the model run through the pipeline's schedule, overlapped gradient reduction and
// parameter gathering, then the optimizer. Returns the time of the step, its breakdown, and the communication.
#pragma once

#include <vector>

#include "workload/result/life.h"
#include "workload/training/layer_ops.h"
#include "workload/training/pipeline_schedule.h"
#include "workload/training/training_plan.h"

namespace weft::workload {

struct StageWeights {
  double dense = 0;    // on one GPU
  double experts = 0;  // on one GPU
  [[nodiscard]] double total() const { return dense + experts; }
};
// Parameters that one GPU of each stage holds.
[[nodiscard]] std::vector<StageWeights> stage_weights(const TrainingPlan& plan);

struct StepCall {  // one kind of communication in one step, on the busiest stage
  PieceCommunication call;
  SimTime total;
  SimTime exposed;
};

struct StepTimes {
  StepParts parts;
  PipelineTimes pipeline;
  std::vector<PieceTimes> forward;  // by global chunk
  std::vector<PieceTimes> backward;
  std::vector<StepCall> calls;
  std::uint32_t slowest = 0;  // stage
  SimTime pass_end;           // last backward pass of the last stage to finish
  SimTime gathers_exposed;    // parameter gathers before the passes
  SimTime gradients_end;
  SimTime optimizer_time;
  SimTime parameters_time;  // to gather them, exposed or not
  double kernel_flops = 0;  // per GPU of the slowest stage
  std::uint64_t launches = 0;
};

[[nodiscard]] StepTimes play_step(const TrainingPlan& plan, const GpuRates& gpu, CommunicationTimer& timer);

}  // namespace weft::workload
