// Compares the step model with published steps; figures and sources are in tests/validate/steps.csv. Accuracy targets
// exist for llama70-bf16, llama8-bf16, gpt175-bf16 and megatron-seqsel. The other limits are regression checks, not a
// statement of accuracy.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "base/test_places.h"
#include "workload/training/published_steps.h"

namespace weft::workload {
namespace {

struct Bar {
  double mean;
  double worst;
};

TEST(StepPublished, EveryTableWithinItsBar) {
  const std::map<std::string, Bar> bars{{"llama70-bf16", {0.05, 0.10}},
                                        {"llama8-bf16", {0.05, 0.10}},
                                        {"gpt175-bf16", {0.05, 0.10}},
                                        {"llama70-bf16-configured", {0.05, 0.10}},
                                        {"llama8-bf16-configured", {0.05, 0.10}},
                                        {"gpt175-bf16-configured", {0.08, 0.10}},
                                        {"llama405-bf16-configured", {0.06, 0.10}},
                                        {"megatron-seqsel", {0.05, 0.10}},
                                        {"megatron-full", {0.05, 0.10}},
                                        {"llama70-fp8", {0.06, 0.10}},
                                        {"llama8-fp8", {0.05, 0.10}},
                                        {"gpt175-fp8", {0.08, 0.11}},
                                        {"llama405-bf16", {0.05, 0.10}},
                                        {"llama405-fp8", {0.09, 0.12}},
                                        {"llama405b-bf16", {0.05, 0.10}},
                                        {"llama405b-fp8", {0.05, 0.10}},
                                        {"llama70b-bf16", {0.05, 0.10}},
                                        {"llama70b-fp8", {0.05, 0.10}},
                                        {"llama8b-bf16", {0.06, 0.10}},
                                        {"llama8b-fp8", {0.05, 0.10}},
                                        {"nemotron15-bf16", {0.06, 0.10}},
                                        {"nemotron15b-bf16", {0.05, 0.10}},
                                        {"nemotron340-bf16", {0.06, 0.10}},
                                        {"nemotron340-fp8", {0.10, 0.15}},
                                        {"grok1-bf16", {0.10, 0.12}},
                                        {"bridge-dense-fp8", {0.05, 0.10}},
                                        {"llama405-gb200-bf16", {0.08, 0.10}},
                                        {"llama405-gb200-fp8", {0.05, 0.10}},
                                        {"mpt-h100-full", {0.06, 0.16}},
                                        {"mpt-a100-full", {0.05, 0.10}},
                                        {"mlperf-405b-h100", {0.07, 0.12}},
                                        {"mlperf-405b-h200", {0.07, 0.10}},
                                        {"mlperf-405b-b200", {0.07, 0.10}},
                                        {"bridge-dense-h100-fp8", {0.07, 0.12}}};
  const std::vector<PublishedSteps> tables = read_published_steps(source_dir() + "/tests/validate/steps.csv");
  std::size_t held = 0;
  for (const PublishedSteps& table : tables) {
    const auto bar = bars.find(table.id);
    if (bar == bars.end()) continue;
    ++held;
    const StepErrors errors = step_errors(table);
    fmt::print("{}: mean {:.1f} %, worst {:.1f} %\n", table.title, 100 * errors.mean, 100 * errors.worst);
    EXPECT_LE(errors.mean, bar->second.mean) << table.title;
    EXPECT_LE(errors.worst, bar->second.worst) << table.title;
  }
  EXPECT_EQ(held, bars.size());
}

// Weak scaling from 64 to 2,048 GPUs, batch included: the step grows by 1.6 % as published, and never shrinks.
TEST(StepPublished, WeakScalingCostsLittle) {
  int tables = 0;
  for (const PublishedSteps& table : read_published_steps(source_dir() + "/tests/validate/steps.csv")) {
    if (table.id != "llama70-bf16" && table.id != "gpt175-bf16" && table.id != "llama8-bf16") continue;
    const PublishedMachine machine(table.gpu);
    const double first = machine.seconds(table.rows.front().plan);
    const double last = machine.seconds(table.rows.back().plan);
    const double measured = table.rows.back().seconds / table.rows.front().seconds - 1;
    EXPECT_GE(last, first) << table.title;
    EXPECT_NEAR(last / first - 1, measured, 0.03) << table.title;
    ++tables;
  }
  EXPECT_EQ(tables, 3);
}

TrainingPlan small_plan() {
  TrainingPlan plan;
  plan.shape = *find_model("llama-3.1-8b");
  plan.gpus = 16;
  plan.data = 16;
  plan.sequence = 8192;
  plan.micro_batch = 1;
  plan.global_batch = 64;
  plan.micro_batches = 4;
  plan.sharding = model::Sharding::optimizer;
  plan.overlap_data = true;
  plan.fp32_gradients = true;
  return plan;
}

TEST(StepPublished, WhatCostsMoreTakesLonger) {
  const PublishedMachine h100("h100-sxm");
  const TrainingPlan plan = small_plan();
  const double base = h100.seconds(plan);
  TrainingPlan changed = plan;
  changed.recompute = model::Recompute::full;
  EXPECT_GT(h100.seconds(changed), base * 1.2);
  EXPECT_LT(h100.seconds(changed), base * 4.0 / 3 * 1.02);
  changed = plan;
  changed.overlap_data = false;
  EXPECT_GT(h100.seconds(changed), base);
  changed = plan;
  changed.precision = model::Precision::fp8;
  EXPECT_LT(h100.seconds(changed), base);
  changed = plan;
  changed.micro_batches = 8;
  changed.global_batch = 128;
  EXPECT_NEAR(h100.seconds(changed), 2 * base, 0.1 * base);
  EXPECT_GT(PublishedMachine("a100-sxm").seconds(plan), 2 * base);
}

// The parts of a step add up to it.
TEST(StepPublished, PartsAddUp) {
  const auto tables = read_published_steps(source_dir() + "/tests/validate/steps.csv");
  ASSERT_FALSE(tables.empty());
  for (const PublishedSteps& table : tables) {
    const PublishedMachine machine(table.gpu);
    const StepParts p = machine.play(table.rows.back().plan).parts;
    const SimTime sum = p.compute + p.recompute + p.tensor + p.context + p.expert + p.pipeline + p.data + p.bubble +
                        p.optimizer + p.input + p.checkpoint + p.host;
    EXPECT_NEAR(static_cast<double>(sum.count()), static_cast<double>(p.step.count()),
                0.001 * static_cast<double>(p.step.count()))
        << table.title;
  }
}

}  // namespace
}  // namespace weft::workload
