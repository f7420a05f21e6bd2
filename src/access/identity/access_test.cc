#include "access/identity/access.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "access/identity/identity.h"

namespace weft::access {
namespace {

using Grants = std::vector<Grant>;

const Grants kNone;
const Grants kViewer{{Role::viewer, ""}};
const Grants kUser{{Role::user, "research"}};
const Grants kTenantAdmin{{Role::tenant_admin, "research"}};
const Grants kOperator{{Role::operate, ""}};
const Grants kAdmin{{Role::administer, ""}};
const Grants kUserOfAll{{Role::user, "*"}};
const Grants kAdminOfAll{{Role::tenant_admin, "*"}};
const Grants kMixed{{Role::viewer, ""}, {Role::user, "research"}, {Role::tenant_admin, "vision"}};

// Of jobs: own or of another user, of the tenant `research` or of another tenant.
struct Row {
  const char* name;
  const Grants& grants;
  bool sees_own_foreign, sees_research, sees_foreign, sees_everything;
  bool submits_research, submits_foreign, submits_somewhere;
  bool changes_own, changes_research, changes_own_foreign, changes_foreign;
  bool operates, administers;
};

const Row kRows[] = {
    {"none", kNone, false, false, false, false, false, false, false, false, false, false, false, false, false},
    {"viewer", kViewer, true, true, true, true, false, false, false, false, false, false, false, false, false},
    {"user", kUser, true, true, false, false, true, false, true, true, false, false, false, false, false},
    {"tenant-admin", kTenantAdmin, true, true, false, false, true, false, true, true, true, false, false, false, false},
    {"operator", kOperator, true, true, true, true, true, true, true, true, true, true, true, true, false},
    {"admin", kAdmin, true, true, true, true, true, true, true, true, true, true, true, true, true},
    {"user of all", kUserOfAll, true, true, true, true, true, true, true, true, false, true, false, false, false},
    {"admin of all", kAdminOfAll, true, true, true, true, true, true, true, true, true, true, true, false, false},
    {"mixed", kMixed, true, true, true, true, true, false, true, true, false, false, false, false, false},
};

TEST(AccessTest, AnswersEachQuestionByRole) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const Access access("ada", row.grants);
    EXPECT_EQ(access.has_any_role(), !row.grants.empty());
    EXPECT_EQ(access.sees("other", "ada"), row.sees_own_foreign);
    EXPECT_EQ(access.sees("research", "bob"), row.sees_research);
    EXPECT_EQ(access.sees("other", "bob"), row.sees_foreign);
    EXPECT_EQ(access.sees_tenant("other"), row.sees_foreign);
    EXPECT_EQ(access.sees_everything(), row.sees_everything);
    EXPECT_EQ(access.may_submit_to("research"), row.submits_research);
    EXPECT_EQ(access.may_submit_to("other"), row.submits_foreign);
    EXPECT_EQ(access.may_submit_somewhere(), row.submits_somewhere);
    EXPECT_EQ(access.may_change("research", "ada"), row.changes_own);
    EXPECT_EQ(access.may_change("research", "bob"), row.changes_research);
    EXPECT_EQ(access.may_change("other", "ada"), row.changes_own_foreign);
    EXPECT_EQ(access.may_change("other", "bob"), row.changes_foreign);
    EXPECT_EQ(access.may_read_output("other", "bob"), row.changes_foreign);
    EXPECT_EQ(access.is_operator(), row.operates);
    EXPECT_EQ(access.is_admin(), row.administers);
  }
}

TEST(AccessTest, SubmitsToItsTenants) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(Access("ada", kUser).submit_tenants(), Names{"research"});
  EXPECT_EQ(Access("ada", {{Role::viewer, ""}, {Role::user, "a"}}).submit_tenants(), Names{"a"});
  EXPECT_EQ(Access("ada", kUserOfAll).submit_tenants(), std::nullopt);
  EXPECT_EQ(Access("ada", kOperator).submit_tenants(), std::nullopt);
  EXPECT_EQ(Access().submit_tenants(), Names{});
}

TEST(AccessTest, GivesNoRightsByEmptyNames) {
  const Access access("", {});
  EXPECT_FALSE(access.sees("research", ""));
  EXPECT_FALSE(access.may_change("research", ""));
  EXPECT_FALSE(Access("ada", kUser).may_submit_to(""));
  EXPECT_FALSE(Access("ada", kUser).may_submit_to("*"));
}

TEST(AccessTest, NamesRolesAndMethods) {
  for (const Role role : kRoles) EXPECT_EQ(find_role(to_text(role)), role);
  EXPECT_EQ(find_role("Admin"), std::nullopt);
  EXPECT_EQ(find_role(""), std::nullopt);
  EXPECT_EQ(to_text(Role::operate), "operator");
  EXPECT_EQ(to_text(Method::unix_socket), "socket");
  EXPECT_EQ(to_text(Method::cli), "cli");
}

}  // namespace
}  // namespace weft::access
