#include "sched/replay/policies.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::sched {
namespace {

TEST(NamedPolicies, MatchTheirNames) {
  ASSERT_NE(find_policy("fifo"), nullptr);
  EXPECT_EQ(find_policy("fifo")->policy.backfill, Backfill::none);
  EXPECT_EQ(find_policy("easy")->policy.reservations, 1);
  EXPECT_EQ(find_policy("greedy")->policy.backfill, Backfill::greedy);
  EXPECT_GT(find_policy("conservative")->policy.reservations, find_policy("easy")->policy.reservations);
  EXPECT_EQ(find_policy("drf")->policy.order, Order::dominant);
  EXPECT_TRUE(find_policy("weft")->policy.preemption);
  EXPECT_EQ(find_policy("Weft"), nullptr);
  std::set<std::string> names;
  for (const NamedPolicy& each : named_policies()) {
    EXPECT_TRUE(names.insert(each.name).second);
    EXPECT_FALSE(each.about.empty());
  }
}

}  // namespace
}  // namespace weft::sched
