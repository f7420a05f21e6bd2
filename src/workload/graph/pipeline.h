// A pipeline of identical stages, described by its shape alone: for workloads that describe one stage. Filling and
// draining costs every stage (stages - 1) / (micro-batches x chunks) of its work (Narayanan et al., SC 2021, section
// 2.2; SimAI uses the same formula) and, in each direction, one message per further stage.
#pragma once

#include <cstdint>

#include "base/quantity.h"

namespace weft::workload {

struct Pipeline {
  std::uint32_t stages = 1;
  std::uint32_t chunks = 1;  // model chunks per stage: interleaving
  std::uint32_t micro_batches = 1;
  Bytes message;             // activations of one micro-batch to the next stage
  std::uint32_t stride = 1;  // distance between the rank numbers of one stage and the next
};

}  // namespace weft::workload
