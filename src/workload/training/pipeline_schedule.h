// The order in which the stages of a pipeline work through the micro-batches of a step, and when: one forward, one
// backward (1F1B), interleaved where a stage holds several chunks, as Megatron-LM orders them. What a pass takes is
// given; waiting and bubbles come out.
#pragma once

#include <cstdint>
#include <vector>

#include "netsim/network/sim_time.h"

namespace weft::workload {

using netsim::SimTime;

struct PipelineInput {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;  // of a stage
  std::int64_t micro_batches = 1;
  // By global chunk number: chunk c of stage s is c * stages + s.
  std::vector<SimTime> forward;
  std::vector<SimTime> backward;
  SimTime message;         // of activations or their gradients to the next stage
  bool overlapped = true;  // messages travel beside compute; false: the sender waits as well
};

struct Pass {
  std::uint32_t chunk = 0;  // of the stage
  std::uint32_t micro_batch = 0;
  bool backward = false;
  SimTime start;
  SimTime end;
};

struct PipelineTimes {
  SimTime end;
  std::vector<std::vector<Pass>> stages;  // in order of time
  std::vector<SimTime> gradients_done;    // by global chunk: end of its last backward pass
  std::vector<SimTime> first_use;         // by global chunk: start of its first forward pass
};

[[nodiscard]] PipelineTimes play_pipeline(const PipelineInput& input);

}  // namespace weft::workload
