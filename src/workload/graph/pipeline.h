// A pipeline whose stages all do the same, known by its shape alone: for workloads that describe one stage. Filling and
// draining it costs every stage (stages - 1) / (micro-batches x chunks) of its work (Narayanan et al., SC 2021, section
// 2.2; SimAI reckons it so) and, each way, a message to every further stage.
#pragma once

#include <cstdint>

#include "base/quantity.h"

namespace weft::workload {

struct Pipeline {
  std::uint32_t stages = 1;
  std::uint32_t chunks = 1;  // of the model that each stage holds: interleaving
  std::uint32_t micro_batches = 1;
  Bytes message;             // activations of one micro-batch to the next stage
  std::uint32_t stride = 1;  // rank numbers of one stage and the next are this far apart
};

}  // namespace weft::workload
