#include "twin/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "sched/machine/plain_machine.h"

namespace weft::twin {
namespace {

constexpr std::size_t at(Measure measure) { return static_cast<std::size_t>(measure); }

// One job on four of six nodes for three days, with many faults.
TwinPlan small_plan() {
  TwinPlan plan;
  plan.cluster = "small";
  sched::PlainMachine plain;
  plain.nodes = 6;
  plan.machine = std::make_shared<const sched::Machine>(sched::plain_machine(plain));
  plan.faults = default_faults();
  plan.fault_scale = 40;
  plan.length = sched::seconds(3 * 86'400);
  TwinJob job;
  job.spec.shape.name = "training";
  job.spec.shape.user = "twin";
  job.spec.shape.tasks = 4;
  job.spec.shape.task.gpus = 8;
  job.spec.command = {"train"};
  job.spec.restart.max_failures = 1000;
  job.spec.checkpoint.volumes = {"/checkpoints"};
  plan.jobs.push_back(job);
  number_jobs(plan.jobs);
  return plan;
}

std::vector<Variant> three_variants() {
  std::vector<Variant> variants;
  for (const std::string name : {"a", "same", "fewer faults"}) variants.push_back({name, small_plan(), {name}});
  variants[2].plan.fault_scale = 0;
  return variants;
}

TEST(TwinCompare, ThreadsDoNotChangeTheResult) {
  const Result<Comparison> one = compare(three_variants(), {3, 4, 5, 9}, 1);
  const Result<Comparison> four = compare(three_variants(), {3, 4, 5, 9}, 4);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(one->runs, four->runs);
  EXPECT_EQ(one->seeds, (std::vector<std::uint64_t>{3, 4, 5, 9}));
}

TEST(TwinCompare, OneSeedIsTheSameRunInEqualVariants) {
  const Result<Comparison> comparison = compare(three_variants(), {1, 2, 3}, 2);
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ(comparison->runs[0], comparison->runs[1]);
  EXPECT_NE(comparison->runs[0][0], comparison->runs[0][1]);  // another seed is another run
  const Estimate none = comparison->difference(1, 0, Measure::ettr);
  EXPECT_EQ(none.mean, 0);
  EXPECT_FALSE(none.differs_from_zero());
  // Without faults nothing is interrupted and nothing lost.
  for (const Measures& run : comparison->runs[2]) {
    EXPECT_EQ(run[at(Measure::interruptions)], 0);
    EXPECT_EQ(run[at(Measure::lost_gpu_hours)], 0);
    EXPECT_EQ(run[at(Measure::availability)], 1);
  }
  EXPECT_GT(comparison->mean(0, Measure::interruptions).mean, 0);
  EXPECT_LT(comparison->difference(2, 0, Measure::lost_gpu_hours).mean, 0);
}

TEST(TwinCompare, Stops) {
  std::atomic<int> asked{0};
  CompareHooks hooks;
  hooks.go_on = [&] { return ++asked < 5; };
  const Result<Comparison> comparison = compare(three_variants(), {1, 2}, 2, hooks);
  ASSERT_FALSE(comparison.ok());
  EXPECT_EQ(comparison.error().code, ErrorCode::unavailable);
}

TEST(TwinCompare, CountsFinishedRuns) {
  std::vector<std::size_t> counts;
  CompareHooks hooks;
  hooks.finished = [&](std::size_t done, std::size_t runs) {
    EXPECT_EQ(runs, 6U);
    counts.push_back(done);
  };
  ASSERT_TRUE(compare(three_variants(), {1, 2}, 3, hooks).ok());
  EXPECT_EQ(counts, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6}));
}

// Runs with these ETTRs; all else 0.
Comparison with_ettr(const std::vector<std::vector<double>>& ettr) {
  Comparison comparison;
  for (std::size_t v = 0; v < ettr.size(); ++v) {
    comparison.names.push_back("v" + std::to_string(v));
    comparison.points.push_back({std::to_string(v), "10m"});
    comparison.runs.emplace_back();
    for (const double value : ettr[v]) comparison.runs.back().push_back({value, 0, 0, 0, 0, 0});
  }
  for (std::size_t s = 0; s < ettr[0].size(); ++s) comparison.seeds.push_back(s + 1);
  return comparison;
}

TEST(TwinCompare, BestMustDifferFromTheSecond) {
  const Comparison clear = with_ettr({{0.5, 0.7, 0.6}, {0.91, 0.95, 0.93}, {0.90, 0.94, 0.919}});
  EXPECT_EQ(clear.best(Measure::ettr), 1U);  // paired, although the intervals of the means overlap
  const Comparison unclear = with_ettr({{0.5, 0.7, 0.6}, {0.91, 0.95, 0.93}, {0.94, 0.91, 0.93}});
  EXPECT_EQ(unclear.best(Measure::ettr), std::nullopt);
  EXPECT_EQ(clear.best(Measure::goodput), std::nullopt);                   // all equal
  EXPECT_EQ(with_ettr({{0.5}, {0.9}}).best(Measure::ettr), std::nullopt);  // one run has no interval
}

// Of fewer interruptions the better.
TEST(TwinCompare, BestOfCountsIsTheLowest) {
  Comparison comparison = with_ettr({{0, 0, 0}, {0, 0, 0}});
  for (Measures& run : comparison.runs[0]) run[at(Measure::interruptions)] = 5;
  for (Measures& run : comparison.runs[1]) run[at(Measure::interruptions)] = 3;
  EXPECT_EQ(comparison.best(Measure::interruptions), 1U);
}

const TableSection& table_of(const Document& document, std::size_t n) {
  return std::get<TableSection>(document.sections.at(n));
}

TEST(TwinCompare, DocumentHasEveryMeasureOfEveryVariant) {
  const Comparison comparison = with_ettr({{0.80, 0.90}, {0.82, 0.94}});
  const Document document = compare_document(comparison, true);
  const TableSection& table = table_of(document, 0);
  ASSERT_EQ(table.rows.size(), 2 * kMeasures);
  EXPECT_EQ(table.rows[1][2].shown, "88.00 %");
  EXPECT_EQ(table.rows[1][4].shown, "+3.00 pp");
  // Differences 0.02 and 0.04: mean 0.03, standard error 0.01, t for one degree of freedom 12.706.
  EXPECT_NEAR(std::get<double>(table.rows[1][5].value), 0.12706, 1e-5);
  EXPECT_EQ(table.rows[1][6].shown, "no");
  EXPECT_EQ(table_of(document, 1).rows.size(), 4U);
  EXPECT_EQ(compare_document(comparison, false).sections.size(), 1U);
}

TEST(TwinCompare, SweepHasOneRowPerPointInTheirOrder) {
  const Comparison comparison = with_ettr({{0.80, 0.90, 0.85}, {0.82, 0.921, 0.87}});
  const Document document = sweep_document(comparison, {"spares", "fault-rate"}, false);
  const TableSection& table = table_of(document, 0);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.columns[1].key, "fault_rate");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[1][0].value), 1);
  EXPECT_EQ(std::get<std::string>(table.rows[1][1].value), "10m");
  EXPECT_EQ(table.rows[1][4].shown, "best");
  EXPECT_EQ(table.rows[0][4].shown, " ");
}

}  // namespace
}  // namespace weft::twin
