#include "workload/training/memory_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/training/step_model.h"

namespace weft::workload {
namespace {

constexpr double kFp8 = 1;  // bytes
constexpr double kBf16 = 2;
constexpr double kFp32 = 4;
// A GPU sold with 141 GB reports 150,109,880,320 bytes, 0.9915 of 141 GiB (cudaMemGetInfo on an H200; 616 MiB are
// reserved by the driver and for ECC). PyTorch's messages show 79.1 to 79.6 GiB on GPUs of 80 GB.
constexpr double kUsable = 0.9915;
constexpr double kGibPerGb = 1.073741824;
// CUDA context, cuBLAS workspaces and NCCL's buffers, about what nvidia-smi shows before the first tensor allocation in
// an 8-GPU job. The context and the kernels of one product alone take 687 MiB (nvidia-smi on an H200, PyTorch 2.11).
constexpr double kContext = 3e9;
constexpr double kContextAlone = 0.72e9;
// Share of allocated memory: blocks that the caching allocator cannot use.
constexpr double kFragmentation = 0.03;

// What a figure assumes where the job file does not decide it.
enum class Assume {
  usual,  // the framework's defaults
  least,  // whatever takes the least memory: what a job certainly needs
};

double d(std::int64_t value) { return static_cast<double>(value); }
Bytes bytes_from(double value) { return Bytes(std::llround(value)); }

struct StageLayers {
  double dense = 0;
  double mixture = 0;
};

std::vector<StageLayers> stage_layers(const TrainingPlan& plan) {
  std::vector<StageLayers> stages(static_cast<std::size_t>(plan.pipeline));
  std::int64_t before = 0;
  const std::vector<std::int64_t> chunks = plan.chunk_layers();
  const std::int64_t dense_layers = plan.shape.mixture() ? plan.shape.dense_layers : plan.shape.layers;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::int64_t dense = std::clamp<std::int64_t>(dense_layers - before, 0, chunks[i]);
    stages[i % stages.size()].dense += d(dense);
    stages[i % stages.size()].mixture += d(chunks[i] - dense);
    before += chunks[i];
  }
  return stages;
}

// Peak number of micro-batches whose activations a stage holds: the first stage has one for each stage after it;
// interleaving adds (p - 1)/(p v) (Korthikanti et al., arXiv 2205.05198).
double batches_in_flight(const TrainingPlan& plan, std::int64_t stage) {
  double batches = d(plan.pipeline - stage);
  if (plan.interleave > 1)
    batches = d(plan.pipeline) * (1 + d(plan.pipeline - 1) / (d(plan.pipeline) * d(plan.interleave))) - d(stage);
  return std::clamp(batches, 1.0, d(plan.micro_batches));
}

// Selective recomputation in PyTorch (torch.utils.checkpoint with a policy per operation, as TorchTitan does by
// default): kept are the layer's input, the output of attention and every second product's output; all else is
// computed again.
double every_second_product(const TrainingPlan& plan) {
  const ModelShape& shape = plan.shape;
  const double tensor = d(plan.tensor);
  const double width = d(shape.heads) / tensor * d(shape.value_width());
  const double kv = std::max(1.0, d(shape.kv_heads) / tensor) * d(shape.key_width());
  const double outputs = width + 2 * kv + 2 * d(shape.hidden) + d(shape.ffn) / tensor * (shape.gated ? 2 : 1);
  return plan.tokens() * kBf16 * (d(shape.hidden) + width + outputs / 2);
}

double experts_activations(const TrainingPlan& plan, Assume assume) {
  const ModelShape& shape = plan.shape;
  const double held = plan.sequence_parallel ? d(plan.tensor) : 1;
  const double routed = plan.tokens() / held * d(shape.active_experts) * d(plan.expert_tensor);
  const double shared = plan.tokens() / held * d(shape.shared_experts);
  // The experts' input; their output as well, unless the router's weights are applied before the last product.
  const double copies = assume == Assume::least ? 1 : 2;
  const double widths = (shape.gated ? 2 : 1) * kBf16 + (plan.fp8_kernels() ? kFp8 : kBf16);
  return routed * d(shape.hidden) * kBf16 * copies +
         (routed / d(plan.expert_tensor) + shared) * d(shape.expert_ffn) * widths;
}

double activations_of(const TrainingPlan& plan, bool mixture, Assume assume) {
  const ModelShape& shape = plan.shape;
  const double tokens = plan.tokens();
  const double tensor = d(plan.tensor);
  const double held = plan.sequence_parallel ? tensor : 1;
  const double hidden = d(shape.hidden);
  if (plan.recompute == model::Recompute::full) return tokens * hidden * kBf16 / held;
  if (plan.recompute == model::Recompute::selective && plan.framework != model::Framework::megatron && !mixture)
    return every_second_product(plan);
  const double heads = d(shape.heads);
  // Inputs of products are kept in their precision.
  const double input = plan.fp8_kernels() ? kFp8 : kBf16;
  // Inputs of both norms, outputs of both norms (inputs of the products after them).
  double bytes = tokens * hidden * (2 * kBf16 + 2 * input) / held;
  if (plan.dropout) bytes += tokens * hidden * 2 / held;  // masks, a byte each
  // Queries, keys, values, output of attention.
  const double kv = std::max(1.0, d(shape.kv_heads) / tensor);
  bytes +=
      tokens * kBf16 *
      (heads / tensor * d(shape.key_width() + shape.value_width()) + kv * d(shape.key_width() + shape.value_width()));
  if (plan.fp8_kernels()) bytes += tokens * heads / tensor * d(shape.value_width()) * kFp8;  // and in FP8
  if (!plan.fused_attention() && plan.recompute == model::Recompute::none) {
    bytes += 5 * heads / tensor * tokens * d(plan.sequence);  // scores, softmax, mask
  }
  if (mixture) return bytes + experts_activations(plan, assume);
  // Up (twice where gated) and its activation, the input of a product; without fusion also the gate's activation.
  const bool gate = shape.gated && plan.framework == model::Framework::eager && assume == Assume::usual;
  return bytes + tokens * d(shape.ffn) / tensor * ((shape.gated ? 2 : 1) * kBf16 + input + (gate ? kBf16 : 0));
}

// Bytes per logit at the end of the forward pass and the begin of the backward pass. Fused losses (Megatron's,
// torch.compile's) keep bf16 logits and an fp32 copy that becomes the gradient; PyTorch's own has an fp32 copy, its
// gradient, and the gradient in bf16.
double logit_bytes(const TrainingPlan& plan, Assume assume) {
  if (assume == Assume::least) return kBf16;
  return plan.framework == model::Framework::eager ? 2 * (kBf16 + kFp32) : kBf16 + kFp32;
}

double stage_activations(const TrainingPlan& plan, std::int64_t stage, const StageLayers& layers, Assume assume) {
  const double batches = batches_in_flight(plan, stage);
  double bytes = 0;
  if (layers.dense > 0) bytes += batches * layers.dense * activations_of(plan, false, assume);
  if (layers.mixture > 0) bytes += batches * layers.mixture * activations_of(plan, true, assume);
  if (stage + 1 == plan.pipeline)
    bytes += plan.tokens() * d(plan.shape.vocab) / d(plan.tensor) * logit_bytes(plan, assume);
  const bool again = plan.recompute == model::Recompute::full ||
                     (plan.recompute == model::Recompute::selective && plan.framework != model::Framework::megatron);
  if (again) {  // the layer being recomputed
    TrainingPlan whole = plan;
    whole.recompute = model::Recompute::none;
    bytes += activations_of(whole, layers.mixture > layers.dense, assume);
  }
  return bytes;
}

struct StageBytes {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double buffers = 0;
  [[nodiscard]] double total() const { return weights + gradients + optimizer + activations + buffers; }
};

class StageMemory {
 public:
  StageMemory(const TrainingPlan& plan, Assume assume)
      : plan_(plan),
        assume_(assume),
        megatron_(plan.framework == model::Framework::megatron),
        weights_(stage_weights(plan)),
        layers_(stage_layers(plan)) {}

  [[nodiscard]] StageBytes of(std::int64_t stage) const {
    const StageWeights& weights = weights_[static_cast<std::size_t>(stage)];
    const StageLayers& layers = layers_[static_cast<std::size_t>(stage)];
    StageBytes use;
    use.weights = weight_bytes(weights);
    use.gradients = share(weights, model::Sharding::gradients) * gradient_size();
    use.optimizer = share(weights, model::Sharding::optimizer) * optimizer_size();
    use.activations = stage_activations(plan_, stage, layers, assume_);
    // Megatron's buffers exist from the begin. PyTorch allocates a gradient when it is computed, which frees
    // activations; with one micro-batch the larger of the two counts.
    if (!megatron_ && plan_.micro_batches == 1) use.gradients = std::max(0.0, use.gradients - use.activations);
    // One layer's gradients before they are added to the buffer or scattered (Megatron's fused accumulation hands
    // autograd a bf16 tensor for each shape of a weight).
    const double transient = layer_weights() * kBf16;
    use.buffers =
        assume_ == Assume::least ? kContextAlone : kContext + transient + kFragmentation * (use.total() + transient);
    return use;
  }

 private:
  [[nodiscard]] bool sharded_weights() const { return plan_.sharding == model::Sharding::parameters; }
  [[nodiscard]] double share(const StageWeights& weights, model::Sharding from) const {
    if (plan_.sharding < from) return weights.total();
    return weights.dense / d(plan_.shard_group().ranks) + weights.experts / d(plan_.expert_data_group().ranks);
  }
  [[nodiscard]] double layer_weights() const {
    const LayerParameters layer = layer_parameters(plan_.shape, plan_.shape.mixture_layers() > 0);
    return (layer.attention + layer.dense) / d(plan_.tensor) + layer.experts / d(plan_.expert * plan_.expert_tensor);
  }
  // bf16 weights. Where they are sharded: those of the layer in use, of the layers gathered ahead, of the embedding and
  // the head, or all of them if they stay gathered until the backward pass; in PyTorch the shards themselves are the
  // optimizer's fp32 weights. Transformer Engine keeps FP8 weights and their transpose over the micro-batches, unless
  // these replace the bf16 ones.
  [[nodiscard]] double weight_bytes(const StageWeights& weights) const {
    const double fp8 = plan_.fp8_kernels() && assume_ == Assume::usual ? 2 * kFp8 : 0;
    if (!sharded_weights()) return weights.total() * (kBf16 + fp8);
    const double ends = (embedding_parameters(plan_.shape) + head_parameters(plan_.shape)) / d(plan_.tensor);
    const double shards = megatron_ || plan_.bf16_optimizer ? share(weights, model::Sharding::parameters) : 0;
    const double layers = plan_.reshard ? d(1 + plan_.prefetch) * layer_weights() : weights.total();
    return shards * kBf16 + std::min(weights.total(), layers + ends) * (plan_.fp8_gather ? kFp8 : kBf16);
  }
  [[nodiscard]] double gradient_size() const {
    if (assume_ == Assume::least && !plan_.gradients_given) return kBf16;
    return plan_.gradient_bytes();
  }
  // Both moments and fp32 weights. NeMo's distributed Adam stores only the 16 bits that bf16 weights lack
  // (store_param_remainders).
  [[nodiscard]] double optimizer_size() const {
    if (plan_.bf16_optimizer) return 2 * kBf16;
    return assume_ == Assume::least && megatron_ ? 2 * kFp32 + kBf16 : 3 * kFp32;
  }

  const TrainingPlan& plan_;
  Assume assume_;
  bool megatron_;
  std::vector<StageWeights> weights_;
  std::vector<StageLayers> layers_;
};

}  // namespace

// Kernel inputs that the backward pass needs. For a GPT layer without FlashAttention this is s b h (34 + 5 a s / h),
// divided by the tensor group with sequence parallelism (arXiv 2205.05198, equation 2).
double layer_activations(const TrainingPlan& plan, bool mixture) {
  return activations_of(plan, mixture, Assume::usual);
}

Bytes usable_memory(Bytes capacity) { return bytes_from(d(capacity.count()) * kGibPerGb * kUsable); }

MemoryUse memory_of(const TrainingPlan& plan, Bytes capacity) {
  const StageMemory usual(plan, Assume::usual);
  const StageMemory least(plan, Assume::least);
  MemoryUse worst;
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    const StageBytes bytes = usual.of(stage);
    worst.least = std::max(worst.least, bytes_from(least.of(stage).total()));
    if (bytes_from(bytes.total()) <= worst.total) continue;
    worst.stage = static_cast<std::uint32_t>(stage);
    worst.weights = bytes_from(bytes.weights);
    worst.gradients = bytes_from(bytes.gradients);
    worst.optimizer = bytes_from(bytes.optimizer);
    worst.activations = bytes_from(bytes.activations);
    worst.buffers = bytes_from(bytes.buffers);
    worst.total = bytes_from(bytes.total());
  }
  worst.capacity = usable_memory(capacity);
  return worst;
}

std::vector<std::string> what_would_fit(const TrainingPlan& plan, Bytes capacity) {
  std::vector<std::string> answers;
  const auto attempt = [&](const TrainingPlan& changed, std::string words) {
    if (memory_of(changed, capacity).total <= usable_memory(capacity)) answers.push_back(std::move(words));
  };
  TrainingPlan changed = plan;
  if (plan.fp32_gradients) {
    changed.fp32_gradients = false;
    attempt(changed, "fp32_gradients: false");
    changed = plan;
  }
  for (const model::Recompute more : {model::Recompute::selective, model::Recompute::full}) {
    if (more <= plan.recompute || (more == model::Recompute::selective && plan.fused_attention())) continue;
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
      changed.sequence_parallel = plan.tensor < 2 || plan.sequence_parallel;
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
