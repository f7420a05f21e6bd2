// One training step: the pieces of the model played through the pipeline's schedule, gradients reduced and parameters
// gathered beside it, the optimizer at the end. Gives the time of the step, where it went, and what was communicated.
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

struct StepCall {  // a kind of communication in one step, as the busiest stage has it
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
  SimTime pass_end;           // last backward of the last stage to finish
  SimTime gathers_exposed;    // of parameters, before the passes
  SimTime gradients_end;
  SimTime optimizer_time;
  SimTime parameters_time;  // gathering them, exposed or not
  double kernel_flops = 0;  // of one GPU of the slowest stage
  std::uint64_t kernels = 0;
};

[[nodiscard]] StepTimes play_step(const TrainingPlan& plan, const GpuRates& gpu, CommunicationTimer& timer);

}  // namespace weft::workload
