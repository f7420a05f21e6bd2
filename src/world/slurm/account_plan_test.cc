#include "world/slurm/account_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace weft::world {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

QosRecord qos(std::string name, std::int64_t priority, std::set<std::string> preempts) {
  return {std::move(name), "", priority, 90, "requeue", std::move(preempts), {"DenyOnLimit"}};
}

AccountsRequest request() {
  AccountsRequest wanted;
  wanted.cluster = "lab";
  wanted.qos = {qos("low", 100, {}), qos("high", 1000, {"low"})};
  AccountRecord team;
  team.name = "team-a";
  team.qos = {"high", "low"};
  team.default_qos = "high";
  team.limits = {{"cpu", "2048"}, {"gres/gpu", "96"}, {"mem", "6400000M"}};
  wanted.accounts = {team};
  return wanted;
}

AccountsState empty_state() {
  AccountsState state;
  state.has_cluster = true;
  state.resources = {"cpu", "mem", "gres/gpu"};
  QosRecord normal;
  normal.name = "normal";
  normal.preempt_mode = "cluster";
  state.qos["normal"] = normal;
  state.used_elsewhere = {"normal"};
  return state;
}

// The database after the request was applied by weft.
AccountsState applied_state() {
  AccountsState state = empty_state();
  for (QosRecord each : request().qos) {
    each.description = "weft:lab";
    state.qos[each.name] = each;
  }
  AccountRecord team = request().accounts.front();
  team.description = "weft:lab";
  team.parent = "root";
  team.limits["mem"] = "6250G";
  state.accounts["team-a"] = team;
  return state;
}

std::vector<std::string> lines(const AccountPlan& plan) {
  std::vector<std::string> out;
  for (const AccountStep& step : plan.steps)
    out.push_back(join(step.command, " ") + (step.blocked.empty() ? "" : " *"));
  return out;
}

std::vector<std::string> left_alone(const AccountPlan& plan) {
  std::vector<std::string> out;
  for (const AccountRemark& each : plan.left_alone) out.push_back(each.kind + " " + each.name + ": " + each.text);
  return out;
}

TEST(AccountPlan, EverythingIsMissing) {
  AccountsRequest wanted = request();
  wanted.users = {{"team-a", "ann"}};
  AccountsState state = empty_state();
  state.has_cluster = false;
  EXPECT_THAT(
      lines(plan_accounts(wanted, state, false)),
      ElementsAre("add cluster lab",
                  "add qos low description=weft:lab priority=100 gracetime=90 preemptmode=requeue flags=DenyOnLimit",
                  "add qos high description=weft:lab priority=1000 gracetime=90 preemptmode=requeue "
                  "flags=DenyOnLimit preempt=low",
                  "add account team-a cluster=lab description=weft:lab fairshare=1 qos=high,low defaultqos=high",
                  "add user ann account=team-a cluster=lab",
                  "modify account team-a where cluster=lab set grptres=cpu=2048,gres/gpu=96,mem=6400000M"));
}

TEST(AccountPlan, NothingToDo) {
  const AccountPlan plan = plan_accounts(request(), applied_state(), true);
  EXPECT_THAT(lines(plan), IsEmpty());
  EXPECT_THAT(left_alone(plan), ElementsAre("qos normal: is not in the cluster file, and weft did not create it"));
}

TEST(AccountPlan, OnlyDifferencesAreChanged) {
  AccountsState state = applied_state();
  state.qos["high"].priority = 5;
  state.qos["low"].flags = {};
  state.accounts["team-a"].limits["cpu"] = "10";
  state.accounts["team-a"].qos = {"low"};
  const AccountPlan plan = plan_accounts(request(), state, false);
  EXPECT_THAT(lines(plan), ElementsAre("modify qos low set flags+=DenyOnLimit", "modify qos high set priority=1000",
                                       "modify account team-a where cluster=lab set qos+=high",
                                       "modify account team-a where cluster=lab set grptres=cpu=2048"));
  EXPECT_EQ(plan.steps[1].settings, (std::vector<AccountSetting>{{"priority", "5", "1000"}}));
  EXPECT_EQ(
      plan.steps[3].settings,
      (std::vector<AccountSetting>{{"grptres", "cpu=10,gres/gpu=96,mem=6250G", "cpu=2048,gres/gpu=96,mem=6250G"}}));
}

TEST(AccountPlan, WhatOthersAddedStays) {
  AccountsState state = applied_state();
  state.accounts["team-a"].limits["node"] = "10";
  state.accounts["team-a"].qos.insert("normal");
  state.accounts["team-b"] = {"team-b", "someone's", "root", {}, {}, {}, {}, {}};
  const AccountPlan plan = plan_accounts(request(), state, false);
  EXPECT_THAT(lines(plan), IsEmpty());
  EXPECT_THAT(left_alone(plan), ElementsAre("account team-a: qos normal is not in the cluster file",
                                            "account team-a: grptres node=10 is not in the cluster file",
                                            "account team-b: is not in the cluster file, and weft did not create it",
                                            "qos normal: is not in the cluster file, and weft did not create it"));
  // With prune only from accounts of our own, and never accounts of others.
  EXPECT_THAT(lines(plan_accounts(request(), state, true)),
              ElementsAre("modify account team-a where cluster=lab set qos-=normal",
                          "modify account team-a where cluster=lab set grptres=node=-1"));
  state.accounts["team-a"].description = "adopted";
  EXPECT_THAT(lines(plan_accounts(request(), state, true)), IsEmpty());
}

TEST(AccountPlan, PruneRemovesOnlyWhatNobodyUses) {
  AccountsState state = applied_state();
  const auto add = [&](const std::string& name, std::set<std::string> users, std::set<std::string> children) {
    state.accounts[name] = {name, "weft:lab", "root", {"old"}, {}, {}, std::move(users), std::move(children)};
  };
  add("old-empty", {}, {});
  add("old-users", {"ann"}, {});
  add("old-parent", {}, {"child"});
  state.qos["old"] = qos("old", 1, {});
  state.qos["old"].description = "weft:lab";
  const AccountPlan kept = plan_accounts(request(), state, false);
  EXPECT_THAT(lines(kept), IsEmpty());
  EXPECT_THAT(left_alone(kept), Contains("account old-empty: is not in the cluster file; --prune removes it"));
  AccountPlan plan = plan_accounts(request(), state, true);
  EXPECT_THAT(lines(plan), ElementsAre("delete account where name=old-empty cluster=lab"));
  EXPECT_THAT(left_alone(plan),
              Contains("account old-users: is not in the cluster file; it has users (ann), so it is never removed"));
  EXPECT_THAT(left_alone(plan), Contains("account old-parent: is not in the cluster file; it has accounts below it "
                                         "(child), so it is never removed"));
  EXPECT_THAT(left_alone(plan), Contains("qos old: is not in the cluster file; account old-parent uses it"));
  // With its last user goes the QoS; unless it is used where we do not look.
  state.accounts.erase("old-users");
  state.accounts.erase("old-parent");
  EXPECT_THAT(lines(plan_accounts(request(), state, true)),
              ElementsAre("delete account where name=old-empty cluster=lab", "delete qos where name=old"));
  state.used_elsewhere.insert("old");
  EXPECT_THAT(lines(plan_accounts(request(), state, true)),
              ElementsAre("delete account where name=old-empty cluster=lab"));
  // A QoS of our own that preempted it no longer does.
  state.used_elsewhere.erase("old");
  state.qos["high"].preempts.insert("old");
  EXPECT_THAT(lines(plan_accounts(request(), state, true)),
              ElementsAre("modify qos high set preempt-=old", "delete account where name=old-empty cluster=lab",
                          "delete qos where name=old"));
}

TEST(AccountPlan, LimitsOnUnknownResourcesAreBlocked) {
  AccountsState state = applied_state();
  state.accounts["team-a"].limits.clear();
  state.resources.erase("gres/gpu");
  const AccountPlan plan = plan_accounts(request(), state, false);
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_THAT(plan.steps[0].blocked, HasSubstr("Slurm does not know gres/gpu yet"));
}

TEST(AccountPlan, LimitsAreComparedAsNumbers) {
  EXPECT_TRUE(is_same_limit("mem", "6250G", "6400000M"));
  EXPECT_TRUE(is_same_limit("mem", "1024", "1G"));
  EXPECT_TRUE(is_same_limit("cpu", "7", "7"));
  EXPECT_FALSE(is_same_limit("cpu", "7", "8"));
  EXPECT_FALSE(is_same_limit("mem", "1T", "1G"));
  EXPECT_FALSE(is_same_limit("mem", "9999999999E", "1E"));
  EXPECT_FALSE(is_same_limit("mem", "", "0"));
}

TEST(AccountPlan, TheIdChangesWithTheStateBefore) {
  AccountsState state = applied_state();
  state.qos["high"].priority = 5;
  const std::string five = plan_accounts(request(), state, false).id();
  EXPECT_EQ(plan_accounts(request(), state, false).id(), five);
  EXPECT_EQ(five.size(), 12U);
  state.qos["high"].priority = 6;
  EXPECT_NE(plan_accounts(request(), state, false).id(), five);
}

// A database with one QoS, in which a write is what the test says.
class FakeDatabase {
 public:
  std::int64_t priority = 5;
  std::int64_t other_priority = 100;
  std::function<void()> on_write = [] {};
  std::vector<std::string> writes;

  RunSacctmgr run() {
    return [this](const std::vector<std::string>& words) -> Result<std::string> {
      if (words == cluster_list_command()) return std::string("Cluster\nlab\n");
      if (words == resource_list_command()) return std::string("Type|Name\ncpu|\nmem|\n");
      if (words == account_list_command()) return std::string("Account|Descr\nroot|default root account\n");
      if (words == association_list_command())
        return std::string("Cluster|Account|User|ParentName|GrpTRES|QOS|Def QOS\nlab|root||||normal|\n");
      if (words == qos_list_command())
        return "Name|Priority|GraceTime|Preempt|PreemptMode|Flags|Descr\nlow|" + std::to_string(other_priority) +
               "|00:01:30||requeue|DenyOnLimit|weft:lab\nhigh|" + std::to_string(priority) +
               "|00:01:30|low|requeue|DenyOnLimit|weft:lab\n";
      writes.push_back(join(words, " "));
      on_write();
      return std::string(" Modified qos...\n");
    };
  }
};

AccountsRequest qos_request() {
  AccountsRequest wanted = request();
  wanted.accounts.clear();
  return wanted;
}

TEST(AccountApply, WritesAndReadsBack) {
  FakeDatabase database;
  database.on_write = [&] { database.priority = 1000; };
  const AccountPlan plan = plan_accounts(qos_request(), *read_accounts(database.run(), "lab"), false);
  const AccountsApplied applied = apply_accounts(database.run(), qos_request(), plan, false);
  EXPECT_TRUE(applied.status.ok()) << applied.status.error().text();
  EXPECT_EQ(applied.done, 1U);
  EXPECT_THAT(database.writes, ElementsAre("-i -Q modify qos high set priority=1000"));
}

TEST(AccountApply, AWriteWithoutEffectIsAFailure) {
  FakeDatabase database;
  const AccountPlan plan = plan_accounts(qos_request(), *read_accounts(database.run(), "lab"), false);
  const AccountsApplied applied = apply_accounts(database.run(), qos_request(), plan, false);
  ASSERT_FALSE(applied.status.ok());
  EXPECT_EQ(applied.done, 0U);
  EXPECT_EQ(applied.status.error().text(), "change qos high: the database is as before; sacctmgr: Modified qos...");
}

TEST(AccountApply, StopsWhenSomeoneElseChangesTheDatabase) {
  FakeDatabase database;
  database.other_priority = 7;
  database.on_write = [&] {
    if (database.writes.size() == 1) database.other_priority = 100;
    database.priority = 6;
  };
  const AccountPlan plan = plan_accounts(qos_request(), *read_accounts(database.run(), "lab"), false);
  ASSERT_EQ(plan.steps.size(), 2U);
  const AccountsApplied applied = apply_accounts(database.run(), qos_request(), plan, false);
  ASSERT_FALSE(applied.status.ok());
  EXPECT_EQ(applied.status.error().code, ErrorCode::conflict);
  EXPECT_THAT(applied.status.error().text(), HasSubstr("change qos low is done, but the database is not as planned"));
  EXPECT_EQ(applied.done, 1U);
  EXPECT_EQ(database.writes.size(), 1U);
}

}  // namespace
}  // namespace weft::world
