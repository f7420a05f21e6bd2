// Order and timing of a step's micro-batches on the pipeline stages: one forward, one backward (1F1B), interleaved if a
// stage has several chunks, as in Megatron-LM. Pass times are input; waiting and bubbles are the result.
#pragma once

#include <cstdint>
#include <vector>

#include "netsim/network/sim_time.h"

namespace weft::workload {

using netsim::SimTime;

struct PipelineInput {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;  // per stage
  std::int64_t micro_batches = 1;
  // By global chunk number: chunk c of stage s is c * stages + s.
  std::vector<SimTime> forward;
  std::vector<SimTime> backward;
  SimTime message;         // activations or their gradients to the next stage
  bool overlapped = true;  // messages overlap with compute; false: the sender waits as well
};

struct Pass {
  std::uint32_t chunk = 0;  // within the stage
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
