// A job's model: a preset, its own dimensions, or a preset with some of them changed.
#include <fmt/format.h>

#include <algorithm>

#include "workload/training/model_shape.h"

namespace weft::workload {
namespace {

std::string nearest_models(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ModelShape& model : known_models()) names.emplace_back(model.name);
  std::string list = did_you_mean(name, names);
  if (!list.empty()) return list + " `weft sim models` lists all";
  // Known models with the longest common prefix with the given name.
  list = "known: ";
  const std::size_t empty = list.size();
  std::size_t best = 0;
  const auto common = [&](std::string_view other) {
    const auto end = std::mismatch(name.begin(), name.end(), other.begin(), other.end()).first;
    return static_cast<std::size_t>(end - name.begin());
  };
  for (const ModelShape& model : known_models()) best = std::max(best, common(model.name));
  for (const ModelShape& model : known_models()) {
    if (best >= 2 && common(model.name) != best) continue;
    list += fmt::format("{}{}", list.size() == empty ? "" : ", ", model.name);
  }
  return list;
}

void take(const model::Sourced<std::int64_t>& given, std::int64_t& value) {
  if (given.has_value()) value = given.value;
}
void take(const model::Sourced<bool>& given, bool& value) {
  if (given.has_value()) value = given.value;
}

void take_all(const model::DimensionsSpec& spec, ModelShape& shape) {
  take(spec.layers, shape.layers);
  take(spec.hidden, shape.hidden);
  take(spec.heads, shape.heads);
  if (spec.heads.has_value() && !spec.kv_heads.has_value()) shape.kv_heads = shape.heads;
  take(spec.kv_heads, shape.kv_heads);
  if ((spec.heads.has_value() || spec.hidden.has_value()) && !spec.head_dim.has_value() && shape.heads > 0) {
    shape.head_dim = shape.hidden / shape.heads;
  }
  take(spec.head_dim, shape.head_dim);
  take(spec.ffn, shape.ffn);
  take(spec.vocab, shape.vocab);
  take(spec.gated, shape.gated);
  take(spec.tied, shape.tied);
  take(spec.learned_positions, shape.learned_positions);
  take(spec.biases, shape.biases);
  take(spec.experts, shape.experts);
  take(spec.active_experts, shape.active_experts);
  take(spec.shared_experts, shape.shared_experts);
  take(spec.expert_ffn, shape.expert_ffn);
  if (shape.experts > 0 && shape.expert_ffn == 0) shape.expert_ffn = shape.ffn;
  take(spec.dense_layers, shape.dense_layers);
  take(spec.query_rank, shape.query_rank);
  take(spec.kv_rank, shape.kv_rank);
  take(spec.rope_dim, shape.rope_dim);
  take(spec.value_dim, shape.value_dim);
}

}  // namespace

std::optional<ModelShape> shape_of(const model::TrainingSpec& training, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  ModelShape shape;
  shape.name = "custom";
  shape.sequence = 2'048;
  if (training.model.has_value()) {
    const ModelShape* known = find_model(training.model.value);
    if (known == nullptr) {
      diagnostics.error(training.model.place, fmt::format("unknown model `{}`", training.model.value),
                        fmt::format("{}; or give `dimensions`", nearest_models(training.model.value)),
                        training.model.value.size());
      return std::nullopt;
    }
    shape = *known;
  }
  const model::DimensionsSpec& spec = training.dimensions.value;
  take_all(spec, shape);
  if (training.sequence.has_value()) shape.sequence = training.sequence.value;
  const SourceLocation place = spec.place.known() ? spec.place : training.place;
  const auto require = [&](std::int64_t value, const char* key) {
    if (value > 0) return;
    diagnostics.error(place, fmt::format("the model has no `{}`", key),
                      "name a known `model`, or give layers, hidden, heads, ffn and vocab under `dimensions`");
  };
  require(shape.layers, "layers");
  require(shape.hidden, "hidden");
  require(shape.heads, "heads");
  require(shape.ffn, "ffn");
  require(shape.vocab, "vocab");
  const auto refuse = [&](bool wrong, const SourceLocation& where, std::string message, std::string hint) {
    if (wrong) diagnostics.error(where.known() ? where : place, std::move(message), std::move(hint));
  };
  if (diagnostics.error_count() != before) return std::nullopt;
  refuse(shape.head_dim <= 0, spec.heads.place, "a head has no width", "set `head_dim`");
  refuse(shape.heads % std::max<std::int64_t>(1, shape.kv_heads) != 0, spec.kv_heads.place,
         fmt::format("{} heads are not a multiple of {} key-value heads", shape.heads, shape.kv_heads),
         "kv_heads must divide heads");
  refuse(shape.experts > 0 && (shape.active_experts < 1 || shape.active_experts > shape.experts),
         spec.active_experts.place, fmt::format("a token uses {} of {} experts", shape.active_experts, shape.experts),
         "active_experts must be between 1 and experts");
  refuse(shape.experts == 0 && (spec.active_experts.has_value() || spec.shared_experts.has_value()), spec.experts.place,
         "expert settings without experts", "set `experts`");
  refuse(shape.dense_layers > shape.layers, spec.dense_layers.place,
         fmt::format("{} of {} layers are dense", shape.dense_layers, shape.layers),
         "dense_layers must be at most layers");
  refuse(shape.latent() && (shape.rope_dim <= 0 || shape.value_dim <= 0), spec.kv_rank.place,
         "latent attention needs rope_dim and value_dim", "DeepSeek-V3 has 64 and 128");
  if (diagnostics.error_count() != before) return std::nullopt;
  return shape;
}

}  // namespace weft::workload
