#include "workload/training/model_shape.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::workload {
namespace {

struct Published {
  const char* model;
  double total;  // billions
  double active;
};

// Parameter counts published in model cards and papers. GPT-3 rows are Megatron's, whose vocabulary is padded to
// 51,200.
constexpr Published kPublished[] = {
    {"gpt3-22b", 22, 22},
    {"gpt3-175b", 175, 175},
    {"gpt3-530b", 530, 530},
    {"gpt3-1t", 1008, 1008},
    {"llama-2-7b", 6.738, 6.738},
    {"llama-2-13b", 13.016, 13.016},
    {"llama-2-70b", 68.977, 68.977},
    {"llama-3-8b", 8.030, 8.030},
    {"llama-3-70b", 70.554, 70.554},
    {"llama-3.1-8b", 8.030, 8.030},
    {"llama-3.1-70b", 70.554, 70.554},
    {"llama-3.1-405b", 405.85, 405.85},
    {"llama-3.2-1b", 1.236, 1.236},
    {"llama-3.2-3b", 3.213, 3.213},
    {"nemotron-4-15b", 15.65, 15.65},
    {"nemotron-4-340b", 341.0, 341.0},
    {"mistral-7b", 7.242, 7.242},
    {"mixtral-8x7b", 46.703, 12.88},
    {"mixtral-8x22b", 140.62, 39.15},
    {"deepseek-v2", 235.7, 21.4},
    {"deepseek-v3", 671.0, 37.5},
    {"qwen2.5-7b", 7.616, 7.616},
    {"qwen2.5-72b", 72.706, 72.706},
    {"qwen3-30b-a3b", 30.53, 3.35},
    {"qwen3-235b-a22b", 235.09, 22.19},
    {"grok-1", 316.5, 86.0},
};

TEST(ModelShape, PublishedParameters) {
  for (const Published& p : kPublished) {
    const ModelShape* shape = find_model(p.model);
    ASSERT_NE(shape, nullptr) << p.model;
    EXPECT_NEAR(total_parameters(*shape) / 1e9, p.total, 0.01 * p.total) << p.model;
    EXPECT_NEAR(active_parameters(*shape) / 1e9, p.active, 0.02 * p.active) << p.model;
  }
}

// Operations of one sample, forward and backward, as NVIDIA's recipes print them (NVIDIA/dgxc-benchmarking v25.02).
// Their 405B assumes 16 key-value groups where the model has 8.
TEST(ModelShape, PublishedFlops) {
  struct Row {
    const char* model;
    std::int64_t sequence;
    double flops;
    double within;
  };
  for (const Row& row : {Row{"llama-3.1-405b", 8192, 2.17e16, 0.015}, Row{"llama-3.1-70b", 8192, 3.94e15, 0.01},
                         Row{"llama-3.1-8b", 8192, 4.74e14, 0.01}, Row{"gpt3-175b", 2048, 2.20e15, 0.01}}) {
    EXPECT_NEAR(model_flops(*find_model(row.model), row.sequence), row.flops, row.within * row.flops) << row.model;
  }
}

// The recipe of Nemotron-4 counts full attention weights (24 L h^2) although its keys and values are grouped: with as
// many groups as heads the model yields their figure.
TEST(ModelShape, NemotronAsItsRecipeCountsIt) {
  for (const auto& [model, flops] : {std::pair("nemotron-4-15b", 4.345e14), std::pair("nemotron-4-340b", 1.01e16)}) {
    ModelShape shape = *find_model(model);
    shape.kv_heads = shape.heads;
    EXPECT_NEAR(model_flops(shape, 4096), flops, 0.01 * flops) << model;
  }
}

// P = 12 l h^2 (1 + 13/(12h) + (V + s)/(12 l h)): Narayanan et al., arXiv 2104.04473, equation 2.
TEST(ModelShape, MegatronFormula) {
  for (const char* model : {"gpt3-1.3b", "gpt3-22b", "gpt3-175b", "gpt3-530b", "gpt3-1t"}) {
    const ModelShape& shape = *find_model(model);
    const auto l = static_cast<double>(shape.layers);
    const auto h = static_cast<double>(shape.hidden);
    const auto vs = static_cast<double>(shape.vocab + shape.sequence);
    const double formula = 12 * l * h * h * (1 + 13 / (12 * h) + vs / (12 * l * h));
    EXPECT_NEAR(total_parameters(shape), formula, 0.0005 * formula) << model;
  }
}

TEST(ModelShape, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const ModelShape& shape : known_models()) EXPECT_TRUE(names.insert(shape.name).second) << shape.name;
  EXPECT_EQ(find_model("no-such-model"), nullptr);
}

}  // namespace
}  // namespace weft::workload
