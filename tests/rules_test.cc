// All rules: the tables are complete, the good examples have no findings, and the example of each rule triggers that
// rule and no other.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "example_runner.h"

namespace weft {
namespace {

TEST(Rules, TablesAreComplete) {
  EXPECT_GE(check::all_rules().size(), 100U);
  std::set<std::string_view> areas;
  for (const check::RuleArea& area : check::rule_areas()) areas.insert(area.code);
  for (const check::Rule& rule : check::all_rules()) {
    SCOPED_TRACE(rule.id);
    ASSERT_EQ(rule.id.size(), 5U);
    EXPECT_EQ(areas.count(rule.id.substr(0, 2)), 1U);
    EXPECT_EQ(rule.id.find_first_not_of("0123456789", 2), std::string_view::npos);
    for (const std::string_view text : {rule.title, rule.reason, rule.source, rule.fix}) {
      EXPECT_FALSE(text.empty());
      EXPECT_EQ(text.find("  "), std::string_view::npos) << text;
    }
    EXPECT_FALSE(rule.title.ends_with('.'));
    EXPECT_FALSE(rule.example.file.empty());
    EXPECT_FALSE(rule.example.from.empty() && rule.example.to.empty());
  }
}

TEST(Rules, FindRuleIgnoresCase) {
  ASSERT_NE(check::find_rule("be001"), nullptr);
  EXPECT_EQ(check::find_rule("be001"), check::find_rule("BE001"));
  EXPECT_EQ(check::find_rule("BE000"), nullptr);
  EXPECT_EQ(check::find_rule(""), nullptr);
}

class GoodExample : public testing::TestWithParam<std::string> {};

TEST_P(GoodExample, GivesNoFinding) {
  examples::Set set{GetParam(), ""};
  if (GetParam() == "pod16.yaml") set.folder = "running";
  if (GetParam() == "nexus8.yaml") set.folder = "running-nexus";
  const examples::Outcome outcome = examples::check(set, {});
  EXPECT_EQ(outcome.problems, "");
  EXPECT_EQ(outcome.found, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Examples, GoodExample,
                         testing::Values("pod16.yaml", "pod32.yaml", "nexus8.yaml", "superpod-h100-4su.yaml"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

class RuleExamples : public testing::TestWithParam<std::size_t> {};

TEST_P(RuleExamples, TriggersThisRuleAlone) {
  const check::Rule& rule = check::all_rules()[GetParam()];
  const std::string original = examples::text_of(std::string(rule.example.file));
  examples::Edit edit{std::string(rule.example.file), original};
  if (rule.example.from.empty()) {
    edit.text += rule.example.to;
  } else {
    const std::size_t at = original.find(rule.example.from);
    ASSERT_NE(at, std::string::npos) << "the example's text is not in " << rule.example.file;
    ASSERT_EQ(original.find(rule.example.from, at + 1), std::string::npos) << "the example's text occurs twice";
    edit.text.replace(at, rule.example.from.size(), rule.example.to);
  }
  const examples::Outcome outcome = examples::check(examples::set_of(rule.example.file), edit);
  EXPECT_EQ(outcome.problems, "");
  EXPECT_FALSE(outcome.found.empty());
  for (const std::string& found : outcome.found) EXPECT_EQ(found.substr(0, 5), rule.id) << found;
}

std::vector<std::size_t> all_indices() {
  std::vector<std::size_t> indices(check::all_rules().size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

INSTANTIATE_TEST_SUITE_P(All, RuleExamples, testing::ValuesIn(all_indices()),
                         [](const auto& each) { return std::string(check::all_rules()[each.param].id); });

}  // namespace
}  // namespace weft
