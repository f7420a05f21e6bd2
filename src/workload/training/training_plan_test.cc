#include "workload/training/training_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "base/test_places.h"
#include "base/yaml.h"
#include "model/load.h"

namespace weft::workload {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TrainingPlan plan_of(std::int64_t layers, std::int64_t pipeline, std::int64_t interleave) {
  TrainingPlan plan;
  plan.shape.layers = layers;
  plan.pipeline = pipeline;
  plan.interleave = interleave;
  return plan;
}

// NVIDIA's recipe for Llama 3.1 405B: 126 layers, embedding and output layer on 8 stages of 8 chunks, 128 / 64 = 2 each
// (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split).
TEST(TrainingPlan, EmbeddingAndLossCountAsLayers) {
  TrainingPlan plan = plan_of(126, 8, 8);
  plan.account_for_embedding = plan.account_for_loss = true;
  std::vector<std::int64_t> layers = plan.chunk_layers();
  ASSERT_EQ(layers.size(), 64U);
  EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), 126);
  EXPECT_EQ(layers.front(), 1);
  EXPECT_EQ(layers.back(), 1);
  layers.erase(layers.begin());
  layers.pop_back();
  EXPECT_THAT(layers, Each(2));
  // The same model cut to 30 layers on 4 stages of 8 chunks: embedding and output layer have chunks of their own.
  plan = plan_of(30, 4, 8);
  plan.account_for_embedding = plan.account_for_loss = true;
  EXPECT_EQ(plan.chunk_layers().front(), 0);
  EXPECT_EQ(plan.chunk_layers().back(), 0);
  EXPECT_EQ(plan.chunk_layers()[1], 1);
  EXPECT_EQ(plan_of(30, 4, 8).chunk_layers(), plan.chunk_layers());  // and by default
  plan = plan_of(31, 4, 1);
  plan.account_for_embedding = true;
  EXPECT_THAT(plan.chunk_layers(), ElementsAre(7, 8, 8, 8));
}

// DeepSeek-V3's 61 layers on 16 stages: 4, then 14 x 4, then 1.
TEST(TrainingPlan, LayersOfTheFirstAndLastStage) {
  TrainingPlan plan = plan_of(61, 16, 1);
  plan.first_stage_layers = 4;
  plan.last_stage_layers = 1;
  const std::vector<std::int64_t> layers = plan.chunk_layers();
  EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), 61);
  EXPECT_EQ(layers.front(), 4);
  EXPECT_EQ(layers[7], 4);
  EXPECT_EQ(layers.back(), 1);
  plan = plan_of(22, 4, 2);
  plan.first_stage_layers = 4;
  EXPECT_THAT(plan.chunk_layers(), ElementsAre(2, 3, 3, 3, 2, 3, 3, 3));
}

class SplitTest : public ::testing::Test {
 protected:
  // The first error of a job with 4 stages; empty if it is accepted.
  static std::string problem(const std::string& layers, const std::string& parallel) {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add(
        "job.yaml",
        "job: 1\nname: split\npool: train\nnodes: 4\ncommand: [train.py]\ntraining:\n  model: llama-3.1-8b\n"
        "  global_batch: 64\n  dimensions: {layers: " +
            layers + "}\n  parallel: {pipeline: 4, " + parallel + "}\n");
    const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
    std::optional<model::JobSpec> job = model::read_job(root.value(), diagnostics);
    if (job) model::resolve(*job, cluster(), diagnostics);
    if (!diagnostics.has_errors()) (void)plan_training(*job, cluster(), diagnostics);
    return diagnostics.has_errors() ? diagnostics.sorted().front().message : "";
  }

 private:
  static const model::Cluster& cluster() {
    static const std::unique_ptr<model::Loaded> loaded = model::load_cluster(source_dir() + "/examples/pod32.yaml", {});
    return *loaded->cluster;
  }
};

TEST_F(SplitTest, AcceptsWhatMegatronAccepts) {
  EXPECT_EQ(problem("30", "account_for_embedding: true, account_for_loss: true"), "");
  EXPECT_EQ(problem("30", "interleave: 8, account_for_embedding: true, account_for_loss: true"), "");
  EXPECT_EQ(problem("30", "interleave: 8"), "");
  EXPECT_EQ(problem("30", "first_stage_layers: 6, last_stage_layers: 4"), "");
  EXPECT_THAT(problem("30", "account_for_loss: true"), HasSubstr("31 layers"));
  EXPECT_THAT(problem("30", "first_stage_layers: 6, last_stage_layers: 5"), HasSubstr("19 layers remain for 2"));
  EXPECT_THAT(problem("30", "first_stage_layers: 30"), HasSubstr("0 layers remain"));
  EXPECT_THAT(problem("32", "interleave: 2, first_stage_layers: 5"), HasSubstr("does not divide 5"));
  EXPECT_THAT(problem("30", "first_stage_layers: 6, account_for_loss: true"), HasSubstr("exclude"));
  EXPECT_THAT(problem("30", "interleave: 9"), HasSubstr("cannot fill 36 chunks"));
}

class KeysTest : public ::testing::Test {
 protected:
  // All that is said about a job on 4 servers.
  static std::string said(const std::string& model, const std::string& training) {
    Sources sources;
    Diagnostics diagnostics;
    (void)plan(model, training, sources, diagnostics);
    return render_all(diagnostics, sources, false);
  }
  static std::optional<TrainingPlan> plan(const std::string& model, const std::string& training, Sources& sources,
                                          Diagnostics& diagnostics) {
    const FileId file = sources.add(
        "job.yaml", "job: 1\nname: keys\npool: train\nnodes: 4\ncommand: [train.py]\ntraining: {model: " + model +
                        ", global_batch: 64, " + training + "}\n");
    const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
    std::optional<model::JobSpec> job = model::read_job(root.value(), diagnostics);
    static const std::unique_ptr<model::Loaded> loaded = model::load_cluster(source_dir() + "/examples/pod32.yaml", {});
    if (job) model::resolve(*job, *loaded->cluster, diagnostics);
    if (diagnostics.has_errors()) return std::nullopt;
    return plan_training(*job, *loaded->cluster, diagnostics);
  }
};

// As in Megatron's recipes and in TorchTitan.
TEST_F(KeysTest, SequenceParallelismComesWithTensorParallelism) {
  const auto parallel = [](const std::string& framework, const std::string& keys) {
    Sources sources;
    Diagnostics diagnostics;
    const auto planned =
        plan("llama-3.1-8b", "framework: " + framework + ", parallel: {" + keys + "}", sources, diagnostics);
    return planned.has_value() && planned->sequence_parallel;
  };
  for (const char* framework : {"megatron", "compiled", "eager"}) {
    EXPECT_TRUE(parallel(framework, "tensor: 4")) << framework;
    EXPECT_FALSE(parallel(framework, "tensor: 4, sequence: false")) << framework;
    EXPECT_FALSE(parallel(framework, "tensor: 1")) << framework;
  }
}

// What is set and cannot have an effect is said; what cannot be is refused.
TEST_F(KeysTest, OfShardedParameters) {
  EXPECT_EQ(said("llama-3.1-8b", "sharding: parameters, fsdp: {reshard: false}, parallel: {replicate: 4}"), "");
  EXPECT_THAT(said("llama-3.1-8b", "fsdp: {reshard: false}"), HasSubstr("warning: `fsdp` has no effect"));
  EXPECT_THAT(said("llama-3.1-8b", "sharding: parameters, fsdp: {fp8_gather: true}"), HasSubstr("for bf16 products"));
  EXPECT_THAT(said("llama-3.1-8b", "sharding: parameters, parallel: {replicate: 3}"),
              HasSubstr("3 does not divide the 32"));
  EXPECT_THAT(said("llama-3.1-8b", "sharding: none, parallel: {replicate: 4}"), HasSubstr("nothing is sharded"));
  EXPECT_THAT(said("mixtral-8x7b", "parallel: {replicate: 2, expert: 8}"), HasSubstr("not supported"));
}

TEST_F(KeysTest, OfExperts) {
  EXPECT_EQ(said("deepseek-v2", "parallel: {expert: 32}, experts: {token_servers: 2}"), "");
  EXPECT_THAT(said("llama-3.1-8b", "experts: {imbalance: 5}"), HasSubstr("warning: `experts` has no effect"));
  EXPECT_THAT(said("mixtral-8x7b", "experts: {imbalance: 5}"), HasSubstr("warning: `experts` has no effect"));
  EXPECT_THAT(said("deepseek-v2", "parallel: {expert: 32}, experts: {dispatch: all-to-all, token_servers: 2}"),
              HasSubstr("warning: `token_servers` has no effect"));
  // 8 experts on 4 servers of 2 GPUs: one server has 2 of them, which is what a token of Mixtral needs.
  EXPECT_EQ(said("mixtral-8x7b", "parallel: {expert: 8, expert_tensor: 4}, experts: {token_servers: 1}"), "");
  EXPECT_THAT(said("mixtral-8x7b",
                   "dimensions: {active_experts: 4}, parallel: {expert: 8, expert_tensor: 4}, experts: "
                   "{token_servers: 1}"),
              HasSubstr("1 servers have 2 experts, but a token uses 4"));
}

}  // namespace
}  // namespace weft::workload
