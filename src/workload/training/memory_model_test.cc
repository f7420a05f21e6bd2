#include "workload/training/memory_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::workload {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kGib = 1024.0 * 1024 * 1024;

// Korthikanti et al., arXiv 2205.05198: models of table 3, activation memory of figure 7 in GiB on the first stage,
// without any optimization and with sequence parallelism and selective recomputation.
struct Published {
  const char* model;
  std::int64_t pipeline;
  std::int64_t interleave;
  std::int64_t micro_batch;
  double none;
  double both;
};
constexpr Published kPublished[] = {{"gpt3-22b", 1, 1, 4, 59.25, 9.56},
                                    {"gpt3-175b", 8, 3, 1, 66.84, 12.35},
                                    {"gpt3-530b", 35, 3, 1, 114.0, 23.1},
                                    {"gpt3-1t", 64, 1, 1, 131.3, 26.6}};

TrainingPlan plan_of(const Published& row) {
  TrainingPlan plan;
  plan.shape = *find_model(row.model);
  plan.tensor = 8;
  plan.pipeline = row.pipeline;
  plan.interleave = row.interleave;
  plan.gpus = 8 * row.pipeline;
  plan.micro_batch = row.micro_batch;
  plan.micro_batches = 1024;
  plan.sequence = plan.shape.sequence;
  plan.flash = false;
  return plan;
}

double activations_gib(const TrainingPlan& plan) {
  // Layers of the first stage in flight: all L of them, and (p - 1)/(p v) more with interleaving (equation 5).
  const double p = static_cast<double>(plan.pipeline);
  const double more = plan.interleave > 1 ? (p - 1) / (p * static_cast<double>(plan.interleave)) : 0;
  return layer_activations(plan, false) * static_cast<double>(plan.shape.layers) * (1 + more) / kGib;
}

TEST(MemoryModel, ActivationsMatchThePaper) {
  for (const Published& row : kPublished) {
    TrainingPlan plan = plan_of(row);
    EXPECT_NEAR(activations_gib(plan) / row.none, 1, 0.01) << row.model;
    plan.sequence_parallel = true;
    plan.recompute = model::Recompute::selective;
    EXPECT_NEAR(activations_gib(plan) / row.both, 1, 0.02) << row.model;
  }
}

TEST(MemoryModel, FullRecomputationKeepsOnlyTheInputs) {
  TrainingPlan plan = plan_of(kPublished[1]);
  plan.recompute = model::Recompute::full;
  // 2 s b h bytes per layer; 8.71 % of no optimization (figure 7 omits the layer being computed).
  EXPECT_NEAR(layer_activations(plan, false), 2.0 * 2048 * 12288, 1);
}

TEST(MemoryModel, ShardingDividesMemory) {
  TrainingPlan plan;
  plan.shape = *find_model("llama-3.1-8b");
  plan.gpus = plan.data = 8;
  plan.sequence = 8192;
  plan.micro_batches = 4;
  const Bytes capacity(80'000'000'000);
  plan.sharding = model::Sharding::none;
  const MemoryUse none = memory_of(plan, capacity);
  const double parameters = total_parameters(plan.shape);
  EXPECT_NEAR(static_cast<double>(none.weights.count()), parameters * 2, parameters * 0.01);
  EXPECT_NEAR(static_cast<double>(none.optimizer.count()), parameters * 12, parameters * 0.05);
  plan.sharding = model::Sharding::optimizer;
  EXPECT_NEAR(static_cast<double>(memory_of(plan, capacity).optimizer.count()), parameters * 12 / 8, parameters * 0.05);
  plan.sharding = model::Sharding::gradients;
  EXPECT_NEAR(static_cast<double>(memory_of(plan, capacity).gradients.count()), parameters * 2 / 8, parameters * 0.01);
  plan.sharding = model::Sharding::parameters;
  EXPECT_LT(memory_of(plan, capacity).weights, none.weights / 2);
}

TEST(MemoryModel, SuggestedChangesFit) {
  TrainingPlan plan;
  plan.shape = *find_model("llama-3.1-70b");
  plan.gpus = 64;
  plan.tensor = 4;
  plan.data = 16;
  plan.sequence = 8192;
  plan.sequence_parallel = true;
  plan.micro_batches = 8;
  plan.fp32_gradients = true;
  plan.sharding = model::Sharding::optimizer;
  const Bytes capacity(80'000'000'000);
  ASSERT_GT(memory_of(plan, capacity).total, capacity);
  const std::vector<std::string> ways = what_would_fit(plan, capacity);
  ASSERT_THAT(ways, Not(IsEmpty()));
  // 70.6 billion parameters over 4 x 16 GPUs: at 18 bytes each, fully sharded, they are 20 GB of the 80.
  EXPECT_THAT(ways, Contains(HasSubstr("sharding: parameters")));
  plan.sharding = model::Sharding::parameters;
  EXPECT_LE(memory_of(plan, capacity).total, capacity);
}

}  // namespace
}  // namespace weft::workload
