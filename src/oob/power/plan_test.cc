#include "oob/power/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "oob/bmc/fake_bmc.h"

namespace weft::oob {
namespace {

// chassis1 contains n1 and n2 and is fed by pdu1 and pdu2; n3 is fed by both PDUs, n4 by pdu1 alone.
class PowerPlanTest : public testing::Test {
 protected:
  PowerPlanTest() {
    std::vector<Target> targets;
    for (const char* name : {"pdu1", "pdu2"}) {
      targets.push_back(fake_target(name, Role::pdu));
      targets.back().feeds = {static_cast<int>(targets.size()) - 1};
    }
    targets.push_back(fake_target("chassis1", Role::chassis));
    targets.back().pdus = {0, 1};
    for (const char* name : {"n1", "n2"}) {
      targets.push_back(fake_target(name));
      targets.back().parent = 2;
    }
    targets.push_back(fake_target("n3"));
    targets.back().pdus = {0, 1};
    targets.push_back(fake_target("n4"));
    targets.back().pdus = {0};
    inventory_ = Inventory(std::move(targets), {});
    states_.assign(inventory_.targets().size(), PowerState::on);
  }
  std::vector<std::uint32_t> at(const std::vector<std::string>& names) const {
    std::vector<std::uint32_t> found;
    for (const std::string& name : names) found.push_back(*inventory_.find(name));
    return found;
  }
  void off(const std::string& name) { states_[*inventory_.find(name)] = PowerState::off; }

  Inventory inventory_;
  PowerStates states_;
};

TEST_F(PowerPlanTest, SourcesAndDependents) {
  EXPECT_EQ(power_sources(inventory_, 3), at({"chassis1", "pdu1", "pdu2"}));
  EXPECT_TRUE(power_sources(inventory_, 0).empty());
  EXPECT_EQ(dependents(inventory_, at({"chassis1"})), at({"n1", "n2"}));
  EXPECT_EQ(dependents(inventory_, at({"pdu1"})), at({"n4"}));  // the others have pdu2
  EXPECT_EQ(dependents(inventory_, at({"pdu1", "pdu2"})), at({"chassis1", "n1", "n2", "n3", "n4"}));
}

TEST_F(PowerPlanTest, CycleInTheFileTerminates) {
  std::vector<Target> targets = {fake_target("a"), fake_target("b")};
  targets[0].parent = 1;
  targets[1].parent = 0;
  const Inventory ring(std::move(targets), {});
  EXPECT_EQ(power_sources(ring, 0), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(dark_by(ring, {PowerState::on, PowerState::on}, 0).empty());
}

TEST_F(PowerPlanTest, DeviceBelowOffAncestorIsOff) {
  off("chassis1");
  EXPECT_EQ(dark_by(inventory_, states_, *inventory_.find("n1")), at({"chassis1"}));
  states_.assign(states_.size(), PowerState::on);
  off("pdu1");
  EXPECT_TRUE(dark_by(inventory_, states_, *inventory_.find("n3")).empty());
  EXPECT_EQ(dark_by(inventory_, states_, *inventory_.find("n4")), at({"pdu1"}));
  off("pdu2");
  EXPECT_EQ(dark_by(inventory_, states_, *inventory_.find("n3")), at({"pdu1", "pdu2"}));
  EXPECT_EQ(dark_by(inventory_, states_, *inventory_.find("n1")), at({"pdu1", "pdu2"}));
}

TEST_F(PowerPlanTest, AncestorAndDescendantAreNotSwitchedOnTogether) {
  for (const PowerVerb verb : {PowerVerb::on, PowerVerb::cycle, PowerVerb::reset}) {
    const Result<PowerPlan> plan = plan_power(inventory_, verb, at({"chassis1", "n1"}), states_);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, ErrorCode::refused);
    EXPECT_NE(plan.error().message.find("n1 gets its power through chassis1"), std::string::npos);
  }
  EXPECT_FALSE(plan_power(inventory_, PowerVerb::on, at({"pdu2", "n3"}), states_).ok());
  EXPECT_TRUE(plan_power(inventory_, PowerVerb::on, at({"pdu2", "n4"}), states_).ok());
}

TEST_F(PowerPlanTest, OffIsOrderedFromLeavesToRoot) {
  const Result<PowerPlan> plan = plan_power(inventory_, PowerVerb::off, at({"pdu1", "chassis1", "n1", "n3"}), states_);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->waves.size(), 3U);
  EXPECT_EQ(plan->waves[0].targets, at({"n1"}));
  EXPECT_EQ(plan->waves[1].targets, at({"chassis1", "n3"}));
  EXPECT_EQ(plan->waves[2].targets, at({"pdu1"}));
  EXPECT_EQ(plan->dependents, at({"n2", "n4"}));
  const std::string shown = write(plan_document(inventory_, *plan), {});
  EXPECT_NE(shown.find("dependents that also lose power: n[2,4] (2)"), std::string::npos) << shown;
}

TEST_F(PowerPlanTest, DevicesBelowOffSourcesAreLeftOut) {
  off("chassis1");
  const Result<PowerPlan> plan = plan_power(inventory_, PowerVerb::on, at({"n1", "n3"}), states_);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->refused.size(), 1U);
  EXPECT_EQ(plan->refused[0].reason, "chassis1 is off");
  EXPECT_EQ(plan->refused[0].next, "power chassis1 on first");
  ASSERT_EQ(plan->waves.size(), 1U);
  EXPECT_EQ(plan->waves[0].targets, at({"n3"}));
  off("pdu1");
  off("pdu2");
  const Result<PowerPlan> dark = plan_power(inventory_, PowerVerb::on, at({"n3"}), states_);
  ASSERT_TRUE(dark.ok());
  EXPECT_EQ(dark->refused.at(0).reason, "pdu[1-2] are off");
}

// `count` servers of 10 kW on feeds 0 and 1, each of the rating.
Inventory two_feeds(std::uint32_t count, Power rating) {
  std::vector<Target> targets;
  for (std::uint32_t i = 0; i < count; ++i) {
    targets.push_back(fake_target("n" + std::to_string(i)));
    targets.back().power = watts(10'000);
    targets.back().feeds = {0, 1};
  }
  return Inventory(std::move(targets), {{0, rating}, {1, rating}});
}

std::vector<std::uint32_t> first(std::uint32_t count) {
  std::vector<std::uint32_t> targets(count);
  std::iota(targets.begin(), targets.end(), 0U);
  return targets;
}

TEST(PowerBudget, DrawNeverExceedsShareOfRating) {
  // 80 % of 100 kW carries 8 servers of 10 kW, in full on each feed, because the other one may fail.
  const Inventory inventory = two_feeds(10, watts(100'000));
  const PowerStates off(10, PowerState::off);
  const Result<PowerPlan> plan = plan_power(inventory, PowerVerb::on, first(10), off, {.percent = 80});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->waves.size(), 1U);
  EXPECT_EQ(plan->waves[0].targets.size(), 8U);
  EXPECT_EQ(plan->waves[0].draw, watts(80'000));
  ASSERT_EQ(plan->refused.size(), 2U);
  EXPECT_EQ(plan->refused[0].problem, PlanProblem::budget);
  EXPECT_EQ(plan->refused[0].reason,
            "feed 0 has no power budget left for 10kW: 80kW of 80kW (80 % of 100kW) are in use");
  // Devices in an unknown state count as running.
  PowerStates unknown(10, PowerState::unknown);
  EXPECT_EQ(plan_power(inventory, PowerVerb::on, first(2), unknown, {.percent = 80})->refused.size(), 2U);
  EXPECT_EQ(plan_power(inventory, PowerVerb::on, first(2), off)->refused.size(), 0U);
  // A device that is on needs no headroom.
  unknown[0] = PowerState::on;
  EXPECT_EQ(plan_power(inventory, PowerVerb::on, first(1), unknown)->refused.size(), 0U);
  EXPECT_EQ(plan_power(inventory, PowerVerb::on, first(10), off, {.stagger = false})->refused.size(), 0U);
}

TEST(PowerBudget, PdusOfOneFeedShareItsLoad) {
  // Two PDUs of 10 kW on each of two feeds, one server of 16 kW on all four: 8 kW on each is 80 %.
  for (const std::int64_t draw : {16'000, 16'002}) {
    std::vector<Target> targets;
    for (const int feed : {0, 0, 1, 1}) {
      targets.push_back(fake_target("pdu" + std::to_string(targets.size()), Role::pdu));
      targets.back().feeds = {feed};
      targets.back().rating = watts(10'000);
    }
    targets.push_back(fake_target("n1"));
    targets.back().power = watts(draw);
    targets.back().feeds = {0, 1};
    targets.back().pdus = {0, 1, 2, 3};
    const Inventory inventory(std::move(targets), {{0, watts(20'003)}, {1, watts(20'003)}});
    const PowerStates states(5, PowerState::unknown);
    const Result<PowerPlan> plan =
        plan_power(inventory, PowerVerb::on, std::vector<std::uint32_t>{4}, states, {.percent = 80});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->refused.size(), draw > 16'000 ? 1U : 0U);
    for (const PlanRefusal& refusal : plan->refused) EXPECT_EQ(refusal.reason.substr(0, 4), "pdu0");
  }
}

TEST(PowerBudget, StartsPerFeedAreLimited) {
  std::vector<Target> targets;
  for (std::uint32_t i = 0; i < 300; ++i) {
    targets.push_back(fake_target("n" + std::to_string(i)));
    targets.back().control = i == 299;
    targets.back().feeds = i % 3 == 0 ? std::vector<int>{0} : i % 3 == 1 ? std::vector<int>{1} : std::vector<int>{0, 1};
  }
  const Inventory inventory(std::move(targets), {});
  const PowerStates states(300, PowerState::off);
  const Result<PowerPlan> plan = plan_power(inventory, PowerVerb::on, first(300), states, {.starts = 7});
  ASSERT_TRUE(plan.ok());
  std::vector<int> times(300, 0);
  for (const PowerWave& wave : plan->waves) {
    std::map<int, std::uint32_t> on_feed;
    for (const std::uint32_t target : wave.targets) {
      ++times[target];
      for (const int feed : inventory.targets()[target].feeds) ++on_feed[feed];
    }
    for (const auto& [feed, count] : on_feed) EXPECT_LE(count, 7U);
  }
  EXPECT_EQ(times, std::vector<int>(300, 1));
  EXPECT_EQ(plan->waves.size(), 29U);  // 200 devices on each feed: ceil(200 / 7)
  EXPECT_EQ(plan->waves[0].targets[0], 299U);
  EXPECT_EQ(plan_power(inventory, PowerVerb::reset, first(300), states, {.starts = 7})->waves.size(), 1U);
}

}  // namespace
}  // namespace weft::oob
