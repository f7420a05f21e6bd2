// A decoder model by its dimensions: its number of parameters, operations per token, and how both are distributed over
// its parts. Names of well-known models are presets over the same dimensions. Parallelism is not handled here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "model/job_training.h"

namespace weft::workload {

struct ModelShape {
  std::string_view name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  // latent attention: the part without position
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t sequence = 0;  // sequence length in training, unless a job sets another
  bool gated = true;
  bool tied = false;
  bool learned_positions = false;
  bool biases = false;
  std::int64_t experts = 0;  // 0: dense
  std::int64_t active_experts = 0;
  std::int64_t shared_experts = 0;
  std::int64_t expert_ffn = 0;
  std::int64_t dense_layers = 0;  // mixture of experts: leading layers without experts
  std::int64_t query_rank = 0;
  std::int64_t kv_rank = 0;  // nonzero: latent attention
  std::int64_t rope_dim = 0;
  std::int64_t value_dim = 0;

  [[nodiscard]] bool latent() const { return kv_rank > 0; }
  [[nodiscard]] bool mixture() const { return experts > 0; }
  // Head dimension of queries and keys, and of values.
  [[nodiscard]] std::int64_t key_width() const { return latent() ? head_dim + rope_dim : head_dim; }
  [[nodiscard]] std::int64_t value_width() const { return latent() ? value_dim : head_dim; }
  [[nodiscard]] std::int64_t mixture_layers() const { return mixture() ? layers - dense_layers : 0; }
};

// Weights of one layer, and of the parts before and after the layers.
struct LayerParameters {
  double attention = 0;
  double dense = 0;    // feed-forward of a dense layer, or router and shared experts of a mixture layer
  double experts = 0;  // all of them
  double norms = 0;
  [[nodiscard]] double total() const { return attention + dense + experts + norms; }
};
[[nodiscard]] LayerParameters layer_parameters(const ModelShape& shape, bool mixture_layer);
[[nodiscard]] double embedding_parameters(const ModelShape& shape);  // including positions
[[nodiscard]] double head_parameters(const ModelShape& shape);       // 0 if tied
[[nodiscard]] double total_parameters(const ModelShape& shape);
[[nodiscard]] double active_parameters(const ModelShape& shape);  // used per token

// Operations of forward and backward of one sequence, without recomputation: 6 for each weight in a product that a
// token passes and 12 x layers x length x width of attention, causal or not. Published MFU figures use this denominator
// (PaLM, appendix B; NVIDIA's recipes).
[[nodiscard]] double model_flops(const ModelShape& shape, std::int64_t sequence);

[[nodiscard]] std::span<const ModelShape> known_models();
[[nodiscard]] const ModelShape* find_model(std::string_view name);

// The job's model: a known model, dimensions, or both. Reports what is missing or inconsistent.
[[nodiscard]] std::optional<ModelShape> shape_of(const model::TrainingSpec& training, Diagnostics& diagnostics);

}  // namespace weft::workload
