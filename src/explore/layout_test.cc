// The layout that the search finds, against the published recipe for the same job and against play_life().
#include "explore/layout.h"

#include <gtest/gtest.h>

#include "explore/build.h"
#include "explore/test_question.h"
#include "workload/life/play_life.h"
#include "workload/training/step_model.h"

namespace weft::explore {
namespace {

struct Lab {
  Question question;
  std::shared_ptr<const model::Cluster> sample;
  const model::ServerModel* server = nullptr;
  std::optional<workload::GpuRates> rates;
  std::optional<model::JobSpec> job;

  explicit Lab(const std::string& model) : question(small_question("train " + model + " on 1T tokens in 30 days")) {
    Choice choice;
    choice.gpu = "h100-sxm";
    choice.nodes = 2;
    Result<design::DesignAnswer> answer =
        design::design_cluster(request_of(question, choice, "sample"), question.catalog);
    sample = answer->cluster;
    server = question.catalog->server("hgx-h100");
    rates = workload::GpuRates::of(*question.catalog->gpu("h100-sxm")).value();
    BuiltCandidate built;
    built.cluster = sample;
    Layout layout;
    layout.global_batch = 128;
    built.job_file = job_file(question, choice, layout, 8'192);
    job = read_job(built).value();
  }
};

double rate_of(const Lab& lab, const Layout& layout, std::int64_t nodes) {
  model::JobSpec job = *lab.job;
  job.nodes.value = nodes;
  apply_layout(layout, job);
  Diagnostics diagnostics;
  const std::optional<workload::TrainingPlan> plan = workload::plan_training(job, *lab.sample, diagnostics);
  if (!plan) return 0;
  workload::FabricTimer timer(workload::machine_of(*lab.sample, *lab.server), {}, 1.0, 8);
  const workload::StepTimes step = workload::play_step(*plan, *lab.rates, timer);
  return static_cast<double>(plan->global_batch * plan->sequence) /
         (static_cast<double>(step.parts.step.count()) / 1e12);
}

// NVIDIA's recipe for Llama 3.1 70B on 64 H100: tensor 4, pipeline 4 with 5 interleaved chunks, context 2.
TEST(LayoutSearchTest, IsNoWorseThanThePublishedRecipe) {
  const Lab lab("llama-3.1-70b");
  LayoutSearch search(*lab.sample, *lab.server, *lab.rates, *lab.job, 128);
  const std::optional<FoundLayout> found = search.find(8);
  ASSERT_TRUE(found.has_value());
  Layout recipe{4, 4, 5, 2, 1, 1, 128, model::Sharding::optimizer, model::Recompute::none};
  EXPECT_GE(found->tokens_per_second, rate_of(lab, recipe, 8) * 0.98);
  EXPECT_NEAR(found->tokens_per_second, rate_of(lab, found->layout, 8), found->tokens_per_second * 1e-9);
}

TEST(LayoutSearchTest, AModelThatDoesNotFitHasNone) {
  const Lab lab("llama-3.1-405b");
  LayoutSearch search(*lab.sample, *lab.server, *lab.rates, *lab.job, 128);
  EXPECT_FALSE(search.find(1).has_value());  // 405 billion parameters on eight GPUs of 80 GB
  EXPECT_TRUE(search.find(64).has_value());
}

TEST(LayoutSearchTest, BatchesDivideAndDifferByATenthAtMost) {
  const Lab lab("llama-3.1-8b");
  LayoutSearch search(*lab.sample, *lab.server, *lab.rates, *lab.job, 512);
  for (const std::int64_t nodes : {1, 2, 3, 5, 7, 12, 16, 30}) {
    const std::optional<FoundLayout> found = search.find(nodes);
    if (!found) continue;
    const Layout& layout = found->layout;
    const std::int64_t data = nodes * 8 / (layout.tensor * layout.pipeline * layout.context);
    EXPECT_EQ(layout.global_batch % (data * layout.micro_batch), 0) << nodes;
    EXPECT_LE(std::abs(layout.global_batch - 512) * 10, 512) << nodes;
  }
}

}  // namespace
}  // namespace weft::explore
