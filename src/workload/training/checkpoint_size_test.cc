#include "workload/training/checkpoint_size.h"

#include <gtest/gtest.h>

namespace weft::workload {
namespace {

constexpr double kGi = 1024.0 * 1024 * 1024;

TrainingPlan plan_of(const char* model) {
  TrainingPlan plan;
  plan.shape = *find_model(model);
  return plan;
}

// MLPerf Storage v2.0, Submission_guidelines.md, table 2; DLIO, on which it is based, divides by 1024^3
// (dlio_benchmark, base_checkpointing.py), so its GB are GiB.
TEST(CheckpointSize, MlperfStorage) {
  EXPECT_NEAR(static_cast<double>(checkpoint_size(plan_of("llama-3.1-8b")).total.count()) / kGi, 105, 0.02 * 105);
  EXPECT_NEAR(static_cast<double>(checkpoint_size(plan_of("llama-3.1-405b")).total.count()) / kGi, 5290, 0.02 * 5290);
  // Their 70B has 128 heads with 8 key-value heads, so the latter are narrower.
  TrainingPlan plan = plan_of("llama-3.1-70b");
  plan.shape.heads = 128;
  plan.shape.head_dim = 64;
  EXPECT_NEAR(static_cast<double>(checkpoint_size(plan).total.count()) / kGi, 912, 0.02 * 912);
}

// BLOOM, "chronicles": 2.3 TB for 176.25 billion parameters, as du prints it: 1024^4, rounded up.
TEST(CheckpointSize, Bloom) {
  const TrainingPlan plan = plan_of("llama-3.1-405b");
  const double each = static_cast<double>(checkpoint_size(plan).total.count()) / total_parameters(plan.shape);
  const double size = 176.25e9 * each / (kGi * 1024);
  EXPECT_GT(size, 2.2);
  EXPECT_LE(size, 2.3);
}

TEST(CheckpointSize, DoesNotDependOnTheLayout) {
  TrainingPlan plan = plan_of("llama-3.1-70b");
  const Bytes one = checkpoint_size(plan).total;
  plan.tensor = 8;
  plan.pipeline = 4;
  plan.sharding = model::Sharding::parameters;
  EXPECT_EQ(checkpoint_size(plan).total, one);
  plan.bf16_optimizer = true;
  EXPECT_LT(checkpoint_size(plan).total.count() * 2, one.count());
}

}  // namespace
}  // namespace weft::workload
