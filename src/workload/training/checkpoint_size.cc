#include "workload/training/checkpoint_size.h"

#include <cmath>

namespace weft::workload {

// Weights in bf16, and for the optimizer the fp32 copy of the weights and Adam's two moments: 2 + 3 x 4 bytes per
// parameter. MLPerf Storage 2.0 has the same (8B, 70B and 405B: 105, 912 and 5,290 "GB", which are GiB: 14.04, 14.01
// and 14.00 bytes per parameter).
CheckpointSize checkpoint_size(const TrainingPlan& plan) {
  const double each = plan.bf16_optimizer ? 3 * 2 : 2 + 3 * 4;
  CheckpointSize size;
  size.total = Bytes(std::llround(total_parameters(plan.shape) * each));
  // With a sharded optimizer every rank writes a part of it; otherwise one replica writes.
  size.writers = static_cast<std::uint64_t>(
      plan.sharding == model::Sharding::none ? plan.gpus / (plan.data * plan.context) : plan.gpus);
  return size;
}

}  // namespace weft::workload
