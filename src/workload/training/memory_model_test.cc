#include "workload/training/memory_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_places.h"
#include "workload/training/published_steps.h"

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
  plan.attention = model::AttentionKernel::unfused;
  plan.dropout = true;
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

double tensors(const MemoryUse& use) {
  return static_cast<double>((use.weights + use.gradients + use.optimizer + use.activations).count());
}

// torch.cuda.memory_allocated at its peak on 8 x B200, Megatron with fp32 gradients: MooreThreads/SimuMax,
// docs/b200/b200_release_v1.2_summary.md ("real alloc GiB"), 4 micro-batches of 4,096 tokens.
TEST(MemoryModel, PeaksOfMegatron) {
  struct Peak {
    const char* model;
    std::int64_t layers, tensor, pipeline, expert;
    double gib;
  };
  for (const Peak& peak : {Peak{"llama-3-70b", 12, 1, 2, 1, 66.55}, Peak{"llama-3-70b", 12, 2, 1, 1, 60.68},
                           Peak{"llama-3-70b", 12, 4, 1, 1, 39.07}, Peak{"llama-3-70b", 12, 8, 1, 1, 28.29},
                           Peak{"llama-3.1-405b", 4, 1, 2, 1, 87.08}, Peak{"llama-3.1-405b", 4, 2, 1, 1, 81.59},
                           Peak{"llama-3.1-405b", 4, 4, 1, 1, 52.89}, Peak{"llama-3.1-405b", 4, 8, 1, 1, 38.57},
                           Peak{"deepseek-v2", 4, 1, 1, 8, 45.63}, Peak{"deepseek-v2", 4, 1, 2, 4, 44.70}}) {
    TrainingPlan plan;
    plan.shape = *find_model(peak.model);
    plan.shape.layers = peak.layers;
    plan.gpus = 8;
    plan.tensor = peak.tensor;
    plan.pipeline = peak.pipeline;
    plan.expert = peak.expert;
    plan.data = 8 / (peak.tensor * peak.pipeline);
    plan.sequence = 4096;
    plan.sequence_parallel = peak.tensor > 1;
    plan.micro_batches = 4;
    plan.fp32_gradients = plan.gradients_given = true;
    if (plan.data > 1) plan.sharding = model::Sharding::optimizer;
    const MemoryUse use = memory_of(plan, Bytes(180'000'000'000));
    const std::string what = fmt::format("{}, tensor {}, pipeline {}", peak.model, peak.tensor, peak.pipeline);
    EXPECT_NEAR(tensors(use) / (peak.gib * kGib), 1, 0.10) << what;
    EXPECT_GE(static_cast<double>(use.total.count()), peak.gib * kGib) << what;
    EXPECT_LE(static_cast<double>(use.least.count()), peak.gib * kGib) << what;
  }
}

// torch.cuda.max_memory_allocated of bench/calibration/measure_gpu.py on one H200: bf16 weights and optimizer, one
// micro-batch.
TEST(MemoryModel, PeaksMeasuredWithPyTorch) {
  const Result<std::string> text = read_file(source_dir() + "/bench/calibration/h200_steps.csv");
  ASSERT_TRUE(text.ok());
  int rows = 0;
  for (const std::string_view line : weft::split(text.value(), '\n')) {
    const std::vector<std::string> fields = published_steps::split(line, ',');
    if (fields.size() < 16 || fields[0] == "name") continue;
    TrainingPlan plan;
    plan.shape =
        published_steps::shape_of(fmt::format("own hidden={} layers={} heads={} kv_heads={} ffn={} vocab={}", fields[1],
                                              fields[2], fields[3], fields[4], fields[5], fields[6]));
    plan.micro_batch = published_steps::whole(fields[7]);
    plan.sequence = published_steps::whole(fields[8]);
    plan.framework = fields[9] == "1" ? model::Framework::compiled : model::Framework::eager;
    plan.recompute = fields[10] == "1" ? model::Recompute::full : model::Recompute::none;
    plan.bf16_optimizer = true;
    const MemoryUse use = memory_of(plan, Bytes(141'000'000'000));
    const double peak = std::stod(fields[15]) * 1e9;
    EXPECT_NEAR(tensors(use) / peak, 1, 0.12) << fields[0];
    EXPECT_LE(static_cast<double>(use.least.count()), peak + 0.72e9) << fields[0];
    ++rows;
  }
  EXPECT_EQ(rows, 7);
}

// torchtitan, benchmarks/llama3_h100_202412_torchtitan.md, tables 1 and 3: memory reserved by PyTorch for Llama 3.1 8B
// with selective recomputation, 2 x 8,192 tokens per GPU.
TEST(MemoryModel, PeaksOfTorchTitan) {
  struct Peak {
    model::Framework framework;
    std::int64_t gpus;
    double gib;
  };
  for (const Peak& peak : {Peak{model::Framework::eager, 8, 82.4}, Peak{model::Framework::compiled, 8, 77.0},
                           Peak{model::Framework::eager, 128, 67.0}, Peak{model::Framework::compiled, 128, 62.0}}) {
    TrainingPlan plan;
    plan.shape = *find_model("llama-3.1-8b");
    plan.gpus = plan.data = peak.gpus;
    plan.sequence = 8192;
    plan.micro_batch = 2;
    plan.framework = peak.framework;
    plan.recompute = model::Recompute::selective;
    plan.sharding = model::Sharding::parameters;
    plan.fp32_gradients = true;
    const MemoryUse use = memory_of(plan, Bytes(96'000'000'000));
    EXPECT_NEAR(static_cast<double>(use.total.count()) / (peak.gib * kGib), 1, 0.25) << peak.gpus;
    EXPECT_LE(static_cast<double>(use.least.count()), peak.gib * kGib) << peak.gpus;
  }
}

// 150,109,880,320 bytes on an H200 of 141 GB (cudaMemGetInfo); 81,559 MiB on an H100 of 80 GB (nvidia-smi).
TEST(MemoryModel, UsableMemoryIsInGib) {
  EXPECT_NEAR(static_cast<double>(usable_memory(Bytes(141'000'000'000)).count()), 150'109'880'320.0, 0.02e9);
  EXPECT_NEAR(static_cast<double>(usable_memory(Bytes(80'000'000'000)).count()), 81'559.0 * 1024 * 1024, 0.5e9);
}

// What the job file leaves open is not certain: gradients in bf16 instead of fp32 are 2 bytes less per parameter.
TEST(MemoryModel, TheBandDependsOnWhatIsSet) {
  TrainingPlan plan;
  plan.shape = *find_model("llama-3.1-8b");
  plan.gpus = plan.data = 8;
  plan.sequence = 8192;
  plan.context = 1;
  plan.micro_batches = 4;
  plan.fp32_gradients = true;
  plan.sharding = model::Sharding::optimizer;
  const MemoryUse open = memory_of(plan, Bytes(80'000'000'000));
  plan.gradients_given = true;
  const MemoryUse set = memory_of(plan, Bytes(80'000'000'000));
  EXPECT_EQ(open.total, set.total);
  EXPECT_NEAR(static_cast<double>((set.least - open.least).count()), 2 * total_parameters(plan.shape), 1e6);
  EXPECT_LT(set.least, set.total);
}

// Hybrid sharding keeps 4 times as much per GPU with a fourth of the GPUs per copy; parameters that stay gathered are
// the whole model in bf16.
TEST(MemoryModel, CopiesOfShardsAndGatheredParameters) {
  TrainingPlan plan;
  plan.shape = *find_model("llama-3.1-8b");
  plan.gpus = plan.data = 32;
  plan.sequence = 4096;
  plan.framework = model::Framework::compiled;
  plan.sharding = model::Sharding::parameters;
  const Bytes capacity(80'000'000'000);
  const MemoryUse wide = memory_of(plan, capacity);
  plan.replicate = 4;
  const MemoryUse hybrid = memory_of(plan, capacity);
  EXPECT_NEAR(static_cast<double>(hybrid.optimizer.count()) / static_cast<double>(wide.optimizer.count()), 4, 0.01);
  plan.reshard = false;
  EXPECT_NEAR(static_cast<double>(memory_of(plan, capacity).weights.count()), 2 * total_parameters(plan.shape), 1e7);
  plan.reshard = true;
  const Bytes one_ahead = memory_of(plan, capacity).weights;
  plan.prefetch = 3;
  EXPECT_GT(memory_of(plan, capacity).weights, one_ahead);
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
  ASSERT_GT(memory_of(plan, capacity).total, usable_memory(capacity));
  const std::vector<std::string> ways = what_would_fit(plan, capacity);
  ASSERT_THAT(ways, Not(IsEmpty()));
  // 70.6 billion parameters over 4 x 16 GPUs: at 18 bytes each, fully sharded, they are 20 GB of the 80.
  EXPECT_THAT(ways, Contains(HasSubstr("sharding: parameters")));
  plan.sharding = model::Sharding::parameters;
  EXPECT_LE(memory_of(plan, capacity).total, capacity);
}

}  // namespace
}  // namespace weft::workload
