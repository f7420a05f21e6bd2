#include "world/slurm/account_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::world {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// As sacctmgr 22.05.8 printed them.
AccountLists lab_lists() {
  AccountLists lists;
  lists.clusters = "Cluster\nlab\nother\n";
  lists.resources = "Type|Name\ncpu|\nmem|\nenergy|\nnode|\nbilling|\nfs|disk\ngres|gpu\ngres|gpu:h100\n";
  lists.qos =
      "Name|Priority|GraceTime|Preempt|PreemptMode|Flags|Descr\n"
      "normal|0|00:00:00||cluster||Normal QOS default\n"
      "low|100|00:01:30||requeue|DenyOnLimit|weft:lab\n"
      "high|1000|1-02:03:04|low,normal|requeue|DenyOnLimit,NoReserve|a | b\n";
  lists.accounts = "Account|Descr\nempty|a|b\nroot|default root account\nteam-a|weft:lab\n";
  lists.associations =
      "Cluster|Account|User|ParentName|GrpTRES|QOS|Def QOS\n"
      "lab|root||||normal|\n"
      "lab|root|root|||normal|\n"
      "lab|team-a||root|cpu=2048,gres/gpu=96,mem=6250G|high,low|high\n"
      "lab|team-a|ann|||high,low|high\n"
      "lab|team-a|bob|||high,low,normal|low\n"
      "lab|empty||team-a||low|\n"
      "other|empty||root||special|\n";
  return lists;
}

TEST(AccountLists, ReadsWhatSlurmdbdHas) {
  const Result<AccountsState> state = parse_accounts(lab_lists(), "lab");
  ASSERT_TRUE(state.ok()) << state.error().text();
  EXPECT_TRUE(state->has_cluster);
  EXPECT_TRUE(state->resources.contains("gres/gpu:h100"));
  EXPECT_TRUE(state->resources.contains("cpu"));
  ASSERT_EQ(state->qos.size(), 3U);
  const QosRecord& high = state->qos.at("high");
  EXPECT_EQ(high.priority, 1000);
  EXPECT_EQ(high.grace_seconds, 93'784);
  EXPECT_THAT(high.preempts, ElementsAre("low", "normal"));
  EXPECT_THAT(high.flags, ElementsAre("DenyOnLimit", "NoReserve"));
  EXPECT_EQ(high.description, "a | b");
  ASSERT_EQ(state->accounts.size(), 2U);
  const AccountRecord& team = state->accounts.at("team-a");
  EXPECT_EQ(team.description, "weft:lab");
  EXPECT_THAT(team.qos, ElementsAre("high", "low"));
  EXPECT_EQ(team.default_qos, "high");
  EXPECT_EQ(team.limits.at("mem"), "6250G");
  EXPECT_EQ(team.limits.at("gres/gpu"), "96");
  EXPECT_THAT(team.users, ElementsAre("ann", "bob"));
  EXPECT_THAT(team.children, ElementsAre("empty"));
  EXPECT_EQ(state->accounts.at("empty").description, "a|b");
  // Of root, of a user beyond the account, and of another cluster.
  EXPECT_THAT(state->used_elsewhere, UnorderedElementsAre("normal", "special"));
}

TEST(AccountLists, ColumnsAreFoundByName) {
  AccountLists lists = lab_lists();
  lists.accounts = "Org|Account|Descr\nx|root|default root account\ny|team-a|weft:lab\nz|empty|e\n";
  const Result<AccountsState> state = parse_accounts(lists, "lab");
  ASSERT_TRUE(state.ok()) << state.error().text();
  EXPECT_EQ(state->accounts.at("team-a").description, "weft:lab");
}

TEST(AccountLists, AClusterThatSlurmdbdDoesNotHave) {
  const Result<AccountsState> state = parse_accounts(lab_lists(), "new");
  ASSERT_TRUE(state.ok()) << state.error().text();
  EXPECT_FALSE(state->has_cluster);
  EXPECT_THAT(state->accounts, IsEmpty());
}

std::string error_of(const AccountLists& lists) {
  const Result<AccountsState> state = parse_accounts(lists, "lab");
  return state.ok() ? "" : state.error().text();
}

TEST(AccountLists, NothingPrintedIsAnError) {
  for (std::string AccountLists::*const list : {&AccountLists::clusters, &AccountLists::resources, &AccountLists::qos,
                                                &AccountLists::accounts, &AccountLists::associations}) {
    AccountLists lists = lab_lists();
    (lists.*list).clear();
    EXPECT_THAT(error_of(lists), HasSubstr("printed nothing"));
  }
}

TEST(AccountLists, AMissingColumnIsAnError) {
  AccountLists lists = lab_lists();
  lists.qos = "Name|Priority\nlow|100\n";
  EXPECT_THAT(error_of(lists), HasSubstr("sacctmgr list qos: has no column 'GraceTime' but 'Name|Priority'"));
}

TEST(AccountLists, ALineThatWasCutOffIsAnError) {
  AccountLists lists = lab_lists();
  lists.associations = lists.associations.substr(0, lists.associations.find("|low|\nother"));
  EXPECT_THAT(error_of(lists), HasSubstr("line 7 has 5 instead of 7 fields: 'lab|empty||team-a|'"));
  lists = lab_lists();
  lists.associations += "lab|x|y|z|cpu=1|a|b|c\n";
  EXPECT_THAT(error_of(lists), HasSubstr("line 9 has 8 instead of 7 fields"));
}

// slurmdbd shows users without rights a shorter list, and says nothing.
TEST(AccountLists, AListThatCannotBeCompleteIsAnError) {
  AccountLists lists = lab_lists();
  lists.associations = "Cluster|Account|User|ParentName|GrpTRES|QOS|Def QOS\nlab|team-a|ann||||\n";
  EXPECT_THAT(error_of(lists), HasSubstr("is not complete: it has no account root on lab; run this as root"));
  lists.associations += "lab|root||||normal|\n";
  EXPECT_THAT(error_of(lists), HasSubstr("account team-a has no parent"));
  lists = lab_lists();
  lists.accounts = "Account|Descr\nroot|default root account\n";
  EXPECT_THAT(error_of(lists), HasSubstr("is not complete: it has no account empty"));
  lists = lab_lists();
  lists.resources = "Type|Name\n";
  EXPECT_THAT(error_of(lists), HasSubstr("it has no cpu and mem"));
}

TEST(AccountLists, ValuesThatCannotBeReadAreErrors) {
  AccountLists lists = lab_lists();
  lists.qos += "odd|many|00:00:00||cluster||\n";
  EXPECT_THAT(error_of(lists), HasSubstr("line 5 is not a QoS: name 'odd', priority 'many'"));
  lists = lab_lists();
  lists.qos += "odd|1|99||cluster||\n";
  EXPECT_THAT(error_of(lists), HasSubstr("grace time '99'"));
  lists = lab_lists();
  lists.associations += "lab|x||root|cpu|a|\n";
  EXPECT_THAT(error_of(lists), HasSubstr("line 9 has the limits 'cpu'"));
}

TEST(AccountLists, AFailedCommandIsAnError) {
  const Result<AccountsState> state = read_accounts(
      [](const std::vector<std::string>& words) -> Result<std::string> {
        if (words == qos_list_command()) return Error{ErrorCode::unavailable, "connection refused", "sacctmgr"};
        const AccountLists lists = lab_lists();
        return words == association_list_command() ? lists.associations : lists.accounts;
      },
      "lab");
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.error().text(), "sacctmgr: connection refused");
}

}  // namespace
}  // namespace weft::world
