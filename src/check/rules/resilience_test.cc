// The examples of the RE and OB tables, run with both tables: each triggers its own rule and no other. rules_test.cc
// covers the other areas.
#include "check/rules/resilience.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_places.h"
#include "check/failures/failure_analysis.h"
#include "check/rules/oob.h"
#include "model/load.h"

namespace weft::check {
namespace {

std::string example(const std::string& name) {
  const Result<std::string> text = read_file(source_dir() + "/examples/" + name);
  EXPECT_TRUE(text.ok()) << name;
  return text.value_or("");
}

std::vector<Rule> tables() {
  std::vector<Rule> rules = resilience_rules();
  for (const Rule& rule : oob_rules()) rules.push_back(rule);
  return rules;
}

// Ids and messages of the findings of both tables in a cluster file without configuration.
std::vector<std::string> findings(const std::string& text) {
  const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("cluster.yaml", text);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  std::vector<std::string> found;
  if (loaded->cluster == nullptr) return found;
  const config::ConfigSet config;
  const CheckInput input(loaded->cluster.get(), config, loaded->sources, false);
  for (const Rule& rule : tables()) {
    if (rule.needs != RuleNeeds::design) continue;
    Report report;
    report.begin(rule);
    rule.run(input, report);
    for (const Finding& finding : report.findings()) {
      EXPECT_TRUE(finding.place.known()) << rule.id;
      EXPECT_FALSE(finding.subject.empty()) << rule.id;
      found.push_back(std::string(rule.id) + " " + finding.subject + ": " + finding.message);
    }
  }
  return found;
}

std::string edited(const RuleExample& edit) {
  std::string text = example(std::string(edit.file));
  if (edit.from.empty()) return text + std::string(edit.to);
  const std::size_t at = text.find(edit.from);
  EXPECT_NE(at, std::string::npos) << edit.from;
  if (at == std::string::npos) return text;
  EXPECT_EQ(text.find(edit.from, at + 1), std::string::npos) << "occurs twice: " << edit.from;
  return text.replace(at, edit.from.size(), edit.to);
}

TEST(ResilienceRules, GoodFileHasNoFinding) { EXPECT_EQ(findings(example("pod16.yaml")), std::vector<std::string>{}); }

TEST(ResilienceRules, EachExampleTriggersOnlyItsRule) {
  int seen = 0;
  for (const Rule& rule : tables()) {
    if (rule.needs != RuleNeeds::design) continue;
    ++seen;
    SCOPED_TRACE(rule.id);
    const std::vector<std::string> found = findings(edited(rule.example));
    EXPECT_FALSE(found.empty());
    for (const std::string& each : found) EXPECT_EQ(each.substr(0, 5), rule.id) << each;
  }
  EXPECT_GT(seen, 5);
}

// Reference values of the formula: 16,384 GPUs on 2,048 nodes at 6.5 failures per 1000 node-days, restart 5 min, free
// checkpoints: 0.676 at an hour, 0.931 at five minutes (Kokolis et al. report 0.93).
TEST(TrainingTime, MatchesThePublishedRatios) {
  EXPECT_NEAR(training_time(2048, 3600.0, 0.0).ratio, 0.676, 0.0005);
  EXPECT_NEAR(training_time(2048, 300.0, 0.0).ratio, 0.931, 0.0005);
}

TEST(TrainingTime, BestIntervalHasTheHighestRatio) {
  for (const std::int64_t nodes : {16, 256, 2048}) {
    const TrainingTime best = training_time(nodes, 1800.0, 90.0);
    for (const double factor : {0.5, 0.9, 1.1, 2.0}) {
      EXPECT_LT(training_time(nodes, best.best_seconds * factor, 90.0).ratio, best.best_ratio)
          << nodes << " " << factor;
    }
  }
}

}  // namespace
}  // namespace weft::check
