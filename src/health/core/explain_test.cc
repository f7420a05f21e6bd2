#include "health/core/explain.h"

#include <gtest/gtest.h>

namespace weft::health {
namespace {

TEST(Explain, UnderstandsWhatPeopleWrite) {
  for (const char* words : {"79", "Xid 79", "xid:79", "XID79", " xid: 79 "}) EXPECT_EQ(signal_meant(words), "xid:79");
  EXPECT_EQ(signal_meant("SXid 12028"), "sxid:12028");
  EXPECT_EQ(signal_meant("sel:psu_lost"), "sel:psu_lost");
  for (const char* words : {"", "xid", "xid 79x", "7 9", "9999999999", "xid:*", "xid:1-9", "gpu on fire"})
    EXPECT_EQ(signal_meant(words), "") << words;
}

TEST(Explain, FindsRulesByIdAndBySignal) {
  const Rules& rules = default_rules();
  ASSERT_EQ(find_rules(rules, "79").size(), 1U);
  EXPECT_EQ(find_rules(rules, "79")[0]->id, "xid-79");
  EXPECT_EQ(find_rules(rules, "xid-79")[0], find_rules(rules, "Xid 79")[0]);
  EXPECT_TRUE(find_rules(rules, "no-such-rule").empty());
  EXPECT_GT(find_rules(rules, "74").size(), 5U);  // by register bits
}

TEST(Explain, SaysWhatIsDoneInWhichOrder) {
  const std::string text =
      write(explain_rules(default_rules(), find_rules(default_rules(), "79")), {OutputFormat::table, false, 100});
  EXPECT_NE(text.find("1. reboot, 2. power cycle, 3. replace the part"), std::string::npos) << text;
  EXPECT_NE(text.find("fatal: the node is taken out of service"), std::string::npos) << text;
}

TEST(Explain, EveryRuleHasItsFacts) {
  for (const Rule& rule : default_rules().rules) {
    EXPECT_FALSE(describe_signals(rule).empty()) << rule.id;
    EXPECT_FALSE(describe_condition(rule).empty()) << rule.id;
  }
}

}  // namespace
}  // namespace weft::health
