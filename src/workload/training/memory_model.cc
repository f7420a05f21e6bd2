#include "workload/training/memory_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/training/step_model.h"

namespace weft::workload {
namespace {

constexpr double kBf16 = 2;
constexpr double kFp32 = 4;
// CUDA context, cuBLAS workspaces and NCCL's buffers, about what nvidia-smi shows before the first tensor allocation in
// an 8-GPU job.
constexpr double kContext = 3e9;
// Share of allocated memory: blocks that the caching allocator cannot use.
constexpr double kFragmentation = 0.03;

double d(std::int64_t value) { return static_cast<double>(value); }
Bytes bytes_from(double value) { return Bytes(std::llround(value)); }

// Peak number of layers whose activations a stage holds: the first stage has one micro-batch of its layers for each
// stage after it; interleaving adds (p - 1)/(p v) (Korthikanti et al., arXiv 2205.05198).
double layers_in_flight(const TrainingPlan& plan, std::int64_t stage) {
  const double layers = d(plan.shape.layers) / d(plan.pipeline);
  double batches = d(plan.pipeline - stage);
  if (plan.interleave > 1)
    batches = d(plan.pipeline) * (1 + d(plan.pipeline - 1) / (d(plan.pipeline) * d(plan.interleave))) - d(stage);
  return layers * std::clamp(batches, 1.0, d(plan.micro_batches));
}

}  // namespace

// Kernel inputs that the backward pass needs. For a GPT layer without FlashAttention this is s b h (34 + 5 a s / h),
// divided by the tensor group with sequence parallelism (arXiv 2205.05198, equation 2).
double layer_activations(const TrainingPlan& plan, bool mixture) {
  const ModelShape& shape = plan.shape;
  const double tokens = plan.tokens();
  const double tensor = d(plan.tensor);
  const double held = plan.sequence_parallel ? tensor : 1;
  const double hidden = d(shape.hidden);
  if (plan.recompute == model::Recompute::full) return tokens * hidden * kBf16 / held;
  const double heads = d(shape.heads);
  // Inputs of both norms, outputs of both norms (inputs of the products after them).
  double bytes = tokens * hidden * kBf16 * 4 / held;
  if (shape.learned_positions) bytes += tokens * hidden * 2 / held;  // dropout masks, a byte each
  // Queries, keys, values, output of attention.
  const double kv = std::max(1.0, d(shape.kv_heads) / tensor);
  bytes +=
      tokens * kBf16 *
      (heads / tensor * d(shape.key_width() + shape.value_width()) + kv * d(shape.key_width() + shape.value_width()));
  if (!plan.flash && plan.recompute == model::Recompute::none) {
    bytes += 5 * heads / tensor * tokens * d(plan.sequence);  // scores, softmax, mask
  }
  const double widths = shape.gated ? 3 : 2;  // up (twice where gated) and its activation
  if (!mixture) return bytes + tokens * d(shape.ffn) / tensor * widths * kBf16;
  const double routed = tokens / held * d(shape.active_experts) * d(plan.expert_tensor);
  const double shared = tokens / held * d(shape.shared_experts);
  bytes += routed * hidden * kBf16 * 2;  // as sent and as returned
  return bytes + (routed / d(plan.expert_tensor) + shared) * d(shape.expert_ffn) * widths * kBf16;
}

MemoryUse memory_of(const TrainingPlan& plan, Bytes capacity) {
  const std::vector<StageWeights> stages = stage_weights(plan);
  const double replicas = d(plan.data_group().ranks);
  const double expert_replicas = d(plan.expert_data_group().ranks);
  const auto share = [&](const StageWeights& weights, model::Sharding from) {
    return plan.sharding >= from ? weights.dense / replicas + weights.experts / expert_replicas : weights.total();
  };
  MemoryUse worst;
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    const StageWeights& weights = stages[static_cast<std::size_t>(stage)];
    MemoryUse use;
    use.capacity = capacity;
    use.stage = static_cast<std::uint32_t>(stage);
    double held = share(weights, model::Sharding::parameters) * kBf16;
    if (plan.sharding == model::Sharding::parameters)
      held += 2 * weights.total() / std::max(1.0, d(plan.shape.layers) / d(plan.pipeline)) * kBf16;
    use.weights = bytes_from(held);
    use.gradients = bytes_from(share(weights, model::Sharding::gradients) * plan.gradient_bytes());
    use.optimizer =
        bytes_from(share(weights, model::Sharding::optimizer) * (plan.bf16_optimizer ? 2 * kBf16 : 3 * kFp32));
    const double mixture_share = d(plan.shape.mixture_layers()) / d(plan.shape.layers);
    double activations =
        layers_in_flight(plan, stage) * (layer_activations(plan, false) * (1 - mixture_share) +
                                         (mixture_share > 0 ? layer_activations(plan, true) * mixture_share : 0));
    if (stage + 1 == plan.pipeline) {
      activations +=
          plan.tokens() * d(plan.shape.vocab) / d(plan.tensor) * (kBf16 + kFp32);  // logits and their gradient
    }
    if (plan.recompute == model::Recompute::full) {
      TrainingPlan whole = plan;
      whole.recompute = model::Recompute::none;
      activations += layer_activations(whole, mixture_share > 0.5);  // the layer being recomputed
    }
    use.activations = bytes_from(activations);
    const double tensors = held + d(use.gradients.count()) + d(use.optimizer.count()) + activations;
    use.buffers = bytes_from(kContext + kFragmentation * tensors);
    use.total = bytes_from(tensors) + use.buffers;
    if (use.total > worst.total) worst = use;
  }
  return worst;
}

std::vector<std::string> what_would_fit(const TrainingPlan& plan, Bytes capacity) {
  std::vector<std::string> answers;
  const auto attempt = [&](const TrainingPlan& changed, std::string words) {
    if (memory_of(changed, capacity).total <= capacity) answers.push_back(std::move(words));
  };
  TrainingPlan changed = plan;
  for (const model::Recompute more : {model::Recompute::selective, model::Recompute::full}) {
    if (more <= plan.recompute || (more == model::Recompute::selective && plan.flash)) continue;
    changed.recompute = more;
    attempt(changed, more == model::Recompute::full ? "recompute: full" : "recompute: selective");
  }
  for (std::int64_t size = plan.micro_batch / 2; size >= 1; size /= 2) {
    changed = plan;
    changed.micro_batch = size;
    changed.micro_batches = plan.micro_batches * plan.micro_batch / size;
    attempt(changed, fmt::format("micro_batch: {}", size));
  }
  static constexpr const char* kShardings[] = {"none", "optimizer", "gradients", "parameters"};
  for (const model::Sharding more :
       {model::Sharding::optimizer, model::Sharding::gradients, model::Sharding::parameters}) {
    if (more <= plan.sharding || plan.data_group().ranks < 2) continue;
    changed = plan;
    changed.sharding = more;
    attempt(changed, fmt::format("sharding: {}", kShardings[static_cast<std::size_t>(more)]));
  }
  // More model parallelism with the same GPUs.
  for (std::int64_t factor = 2; factor <= plan.data && factor <= 64; factor *= 2) {
    if (plan.data % factor != 0) continue;
    changed = plan;
    changed.data = plan.data / factor;
    changed.micro_batches = plan.micro_batches * factor;
    changed.tensor = plan.tensor * factor;
    if (changed.tensor <= plan.node_gpus && plan.shape.heads % changed.tensor == 0) {
      changed.sequence_parallel = plan.framework == model::Framework::megatron;
      attempt(changed, fmt::format("tensor: {}", changed.tensor));
    }
    changed.tensor = plan.tensor;
    changed.sequence_parallel = plan.sequence_parallel;
    changed.pipeline = plan.pipeline * factor;
    if (changed.pipeline * plan.interleave <= plan.shape.layers)
      attempt(changed, fmt::format("pipeline: {}", changed.pipeline));
  }
  if (answers.size() > 5) answers.resize(5);
  return answers;
}

}  // namespace weft::workload
