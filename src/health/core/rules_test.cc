#include "health/core/rules.h"

#include <gtest/gtest.h>

namespace weft::health {
namespace {

const std::string kHead =
    "health: 1\nburst: 3m\nstale_after: 2m\n"
    "score: {cordon_below: 60, thermal: 50, memory: 30, power: 20}\nrules:\n";

std::optional<Rules> read(const std::string& rules, std::string* problems = nullptr) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("rules.yaml", kHead + rules);
  std::optional<Rules> out = read_rules(sources, file, diagnostics);
  if (problems != nullptr) *problems = render_all(diagnostics, sources, false);
  return out;
}

std::string rule(const std::string& lines) {
  return "  - {id: r, title: t, severity: fatal, scope: gpu, actions: [reset_gpu], maturity: estimate, source: s, " +
         lines + "}\n";
}

TEST(Rules, ShippedOnesAreValid) { EXPECT_NE(default_rules().find("xid-79"), nullptr); }

TEST(Rules, PatternsMatchNamesRangesAndFamilies) {
  EXPECT_TRUE(parse_pattern("xid:79")->matches("xid:79"));
  EXPECT_FALSE(parse_pattern("xid:79")->matches("xid:790"));
  EXPECT_FALSE(parse_pattern("xid:79")->matches("sxid:79"));
  EXPECT_TRUE(parse_pattern("xid:126-135")->matches("xid:126"));
  EXPECT_TRUE(parse_pattern("xid:126-135")->matches("xid:135"));
  EXPECT_FALSE(parse_pattern("xid:126-135")->matches("xid:136"));
  EXPECT_FALSE(parse_pattern("xid:126-135")->matches("xid:12x"));
  EXPECT_TRUE(parse_pattern("xid:*")->matches("xid:1"));
  EXPECT_FALSE(parse_pattern("xid:*")->matches("xid"));
  EXPECT_TRUE(parse_pattern("sel:psu_lost")->matches("sel:psu_lost"));
  for (const char* wrong : {"", "xid", "xid:", ":79", "Xid:79", "xid:9-2", "xid:7 9", "xid:**"}) {
    EXPECT_FALSE(parse_pattern(wrong).has_value()) << wrong;
  }
}

TEST(Rules, DetailsAreTestedByValueOrByBit) {
  const auto rules = read(rule("signals: ['xid:74'], where: {reg0: 'bits 21,22', unit: 'RLW, TLW'}"));
  ASSERT_TRUE(rules.has_value());
  Signal signal;
  signal.name = "xid:74";
  signal.details = {{"reg0", "0x200000"}, {"unit", "TLW"}};
  EXPECT_TRUE(rules->rules[0].matches(signal));
  signal.details[0].value = "0x100000";
  EXPECT_FALSE(rules->rules[0].matches(signal));
  signal.details = {{"reg0", "0x400000"}, {"unit", "SAW"}};
  EXPECT_FALSE(rules->rules[0].matches(signal));
  signal.details = {{"unit", "TLW"}};
  EXPECT_FALSE(rules->rules[0].matches(signal));
}

TEST(Rules, WrongOnesAreReportedAtTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"signals: [79]", "is not a signal"},
      {"signals: []", "at least one signal"},
      {"signals: ['a:b'], above: 1, mask: 4", "only one of"},
      {"signals: ['a:b'], above: 1x", "expected a number"},
      {"signals: ['a:b'], above: nan", "expected a number"},
      {"signals: ['a:b'], at_least: 2", "needs `within`"},
      {"signals: ['a:b'], per: 1m", "belongs to `rise`"},
      {"signals: ['a:b'], samples: 3", "use `at_least`"},
      {"signals: ['a:b'], ends: time", "needs `clears_after`"},
      {"signals: ['a:b'], clears_after: 1m", "needs `ends: time`"},
      {"signals: ['a:b'], where: {reg0: 'bits 64'}", "bit numbers from 0 to 63"},
      {"signals: ['a:b'], nothing: 1", "nothing"},
  };
  for (const auto& [line, expected] : cases) {
    std::string problems;
    EXPECT_FALSE(read(rule(line), &problems).has_value()) << line;
    EXPECT_NE(problems.find(expected), std::string::npos) << problems;
    EXPECT_NE(problems.find("rules.yaml:"), std::string::npos) << problems;
  }
  std::string problems;
  EXPECT_FALSE(read(rule("signals: ['a:b']") + rule("signals: ['a:b']"), &problems).has_value());
  EXPECT_NE(problems.find("listed twice"), std::string::npos);
  EXPECT_FALSE(read("", &problems).has_value());
}

}  // namespace
}  // namespace weft::health
