#include "workload/training/model_shape.h"

#include <fmt/format.h>

#include <array>

namespace weft::workload {
namespace {

// Published dimensions: the models' own config files or papers. GPT-3: Brown et al. 2020, table 2.1, padded vocabulary
// as Megatron has it; Megatron 22B to 1T: Korthikanti et al. 2022, table 3; Llama: Meta's config files; Nemotron-4:
// arXiv 2402.16819 and 2406.11704; Mixtral: arXiv 2401.04088; Grok-1: xAI's release; DeepSeek-V3: arXiv 2412.19437;
// Qwen: config files of Qwen2.5 and Qwen3.
constexpr ModelShape gpt(std::string_view name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  ModelShape shape;
  shape.name = name;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = shape.kv_heads = heads;
  shape.head_dim = hidden / heads;
  shape.ffn = 4 * hidden;
  shape.vocab = 51'200;
  shape.sequence = 2'048;
  shape.gated = false;
  shape.tied = true;
  shape.learned_positions = true;
  shape.biases = true;
  return shape;
}

struct Llama {
  std::int64_t layers, hidden, heads, kv_heads, ffn, vocab, sequence;
};
constexpr ModelShape llama(std::string_view name, const Llama& d) {
  ModelShape shape;
  shape.name = name;
  shape.layers = d.layers;
  shape.hidden = d.hidden;
  shape.heads = d.heads;
  shape.kv_heads = d.kv_heads;
  shape.head_dim = d.hidden / d.heads;
  shape.ffn = d.ffn;
  shape.vocab = d.vocab;
  shape.sequence = d.sequence;
  return shape;
}

constexpr ModelShape nemotron(std::string_view name, const Llama& d) {
  ModelShape shape = llama(name, d);
  shape.gated = false;  // squared ReLU
  return shape;
}

struct Experts {
  std::int64_t count, active, ffn;
};
constexpr ModelShape mixture(ModelShape shape, const Experts& e) {
  shape.experts = e.count;
  shape.active_experts = e.active;
  shape.expert_ffn = e.ffn;
  return shape;
}

constexpr ModelShape with_head(ModelShape shape, std::int64_t head_dim) {
  shape.head_dim = head_dim;
  return shape;
}

constexpr ModelShape tied(ModelShape shape) {
  shape.tied = true;
  return shape;
}

constexpr ModelShape deepseek(std::string_view name, const Llama& d, const Experts& e, std::int64_t dense_layers,
                              std::int64_t query_rank) {
  ModelShape shape = mixture(llama(name, d), e);
  shape.shared_experts = 1;
  shape.dense_layers = dense_layers;
  shape.head_dim = 128;
  shape.query_rank = query_rank;
  shape.kv_rank = 512;
  shape.rope_dim = 64;
  shape.value_dim = 128;
  return shape;
}

constexpr ModelShape shared(ModelShape shape, std::int64_t experts) {
  shape.shared_experts = experts;
  return shape;
}

constexpr std::array kModels{
    gpt("gpt3-1.3b", 24, 2'048, 16),
    gpt("gpt3-6.7b", 32, 4'096, 32),
    gpt("gpt3-13b", 40, 5'120, 40),
    gpt("gpt3-22b", 48, 6'144, 64),
    gpt("gpt3-175b", 96, 12'288, 96),
    gpt("gpt3-530b", 105, 20'480, 128),
    gpt("gpt3-1t", 128, 25'600, 160),
    llama("llama-2-7b", {32, 4'096, 32, 32, 11'008, 32'000, 4'096}),
    llama("llama-2-13b", {40, 5'120, 40, 40, 13'824, 32'000, 4'096}),
    llama("llama-2-70b", {80, 8'192, 64, 8, 28'672, 32'000, 4'096}),
    llama("llama-3-8b", {32, 4'096, 32, 8, 14'336, 128'256, 8'192}),
    llama("llama-3-70b", {80, 8'192, 64, 8, 28'672, 128'256, 8'192}),
    llama("llama-3.1-8b", {32, 4'096, 32, 8, 14'336, 128'256, 8'192}),
    llama("llama-3.1-70b", {80, 8'192, 64, 8, 28'672, 128'256, 8'192}),
    llama("llama-3.1-405b", {126, 16'384, 128, 8, 53'248, 128'256, 8'192}),
    tied(llama("llama-3.2-1b", {16, 2'048, 32, 8, 8'192, 128'256, 8'192})),
    tied(llama("llama-3.2-3b", {28, 3'072, 24, 8, 8'192, 128'256, 8'192})),
    nemotron("nemotron-4-15b", {32, 6'144, 48, 8, 24'576, 256'000, 4'096}),
    nemotron("nemotron-4-340b", {96, 18'432, 96, 8, 73'728, 256'000, 4'096}),
    llama("mistral-7b", {32, 4'096, 32, 8, 14'336, 32'000, 8'192}),
    mixture(llama("mixtral-8x7b", {32, 4'096, 32, 8, 14'336, 32'000, 4'096}), {8, 2, 14'336}),
    mixture(llama("mixtral-8x22b", {56, 6'144, 48, 8, 16'384, 32'768, 4'096}), {8, 2, 16'384}),
    mixture(llama("grok-1", {64, 6'144, 48, 8, 32'768, 131'072, 8'192}), {8, 2, 32'768}),
    shared(deepseek("deepseek-v2", {60, 5'120, 128, 128, 12'288, 102'400, 4'096}, {160, 6, 1'536}, 1, 1'536), 2),
    deepseek("deepseek-v3", {61, 7'168, 128, 128, 18'432, 129'280, 4'096}, {256, 8, 2'048}, 3, 1'536),
    llama("qwen2.5-7b", {28, 3'584, 28, 4, 18'944, 152'064, 4'096}),
    llama("qwen2.5-72b", {80, 8'192, 64, 8, 29'568, 152'064, 4'096}),
    with_head(mixture(llama("qwen3-30b-a3b", {48, 2'048, 32, 4, 6'144, 151'936, 4'096}), {128, 8, 768}), 128),
    with_head(mixture(llama("qwen3-235b-a22b", {94, 4'096, 64, 4, 12'288, 151'936, 4'096}), {128, 8, 1'536}), 128),
    shared(mixture(llama("llama-4-scout", {48, 5'120, 40, 8, 16'384, 202'048, 8'192}), {16, 1, 8'192}), 1),
};

double d(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

LayerParameters layer_parameters(const ModelShape& shape, bool mixture_layer) {
  LayerParameters result;
  const double h = d(shape.hidden);
  const double heads = d(shape.heads);
  if (shape.latent()) {
    const double query_in = shape.query_rank > 0 ? d(shape.query_rank) : h;
    result.attention = (shape.query_rank > 0 ? h * d(shape.query_rank) : 0) + query_in * heads * d(shape.key_width()) +
                       h * d(shape.kv_rank + shape.rope_dim) +
                       d(shape.kv_rank) * heads * d(shape.head_dim + shape.value_dim) + heads * d(shape.value_dim) * h;
  } else {
    result.attention = h * d(shape.head_dim) * (2 * heads + 2 * d(shape.kv_heads));
  }
  const double matrices = shape.gated ? 3 : 2;
  if (mixture_layer) {
    result.dense = h * d(shape.experts) + matrices * h * d(shape.expert_ffn) * d(shape.shared_experts);
    result.experts = matrices * h * d(shape.expert_ffn) * d(shape.experts);
  } else {
    result.dense = matrices * h * d(shape.ffn);
  }
  result.norms = 2 * h * (shape.biases ? 2 : 1);
  if (shape.biases) result.norms += d(shape.head_dim) * (heads + 2 * d(shape.kv_heads)) + 2 * h + d(shape.ffn);
  return result;
}

double embedding_parameters(const ModelShape& shape) {
  return d(shape.hidden) * (d(shape.vocab) + (shape.learned_positions ? d(shape.sequence) : 0));
}

double head_parameters(const ModelShape& shape) { return shape.tied ? 0 : d(shape.hidden) * d(shape.vocab); }

double total_parameters(const ModelShape& shape) {
  const double mixture = d(shape.mixture_layers());
  return (d(shape.layers) - mixture) * layer_parameters(shape, false).total() +
         (mixture > 0 ? mixture * layer_parameters(shape, true).total() : 0) + embedding_parameters(shape) +
         head_parameters(shape) + d(shape.hidden);
}

double active_parameters(const ModelShape& shape) {
  if (!shape.mixture()) return total_parameters(shape);
  const double idle = 1 - d(shape.active_experts) / d(shape.experts);
  return total_parameters(shape) - d(shape.mixture_layers()) * layer_parameters(shape, true).experts * idle;
}

double model_flops(const ModelShape& shape, std::int64_t sequence) {
  const double looked_up = embedding_parameters(shape);
  const double head = shape.tied ? d(shape.hidden) * d(shape.vocab) : 0;  // its product is computed all the same
  const double weights = active_parameters(shape) - looked_up + head;
  const double attention =
      6 * d(shape.layers) * d(sequence) * d(shape.heads) * d(shape.key_width() + shape.value_width());
  return (6 * weights + attention) * d(sequence);
}

std::span<const ModelShape> known_models() { return kModels; }

const ModelShape* find_model(std::string_view name) {
  for (const ModelShape& model : kModels) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace weft::workload
