#include "access/token/restriction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace weft::access {
namespace {

Access restrict_grants(std::vector<Grant> grants, const Restriction& restriction) {
  return restrict_access(Access("ada", std::move(grants)), restriction);
}

TEST(RestrictionTest, KeepsWhatBothAllow) {
  using Grants = std::vector<Grant>;
  const Grants admin{{Role::administer, ""}};
  const Grants mixed{{Role::viewer, ""}, {Role::tenant_admin, "a"}, {Role::user, "b"}};
  EXPECT_EQ(restrict_grants(admin, {}).grants(), admin);
  EXPECT_EQ(restrict_grants(admin, {Role::viewer, ""}).grants(), (Grants{{Role::viewer, ""}}));
  EXPECT_EQ(restrict_grants(admin, {Role::operate, ""}).grants(), (Grants{{Role::operate, ""}}));
  EXPECT_EQ(restrict_grants(admin, {Role::user, "a"}).grants(), (Grants{{Role::user, "a"}}));
  EXPECT_EQ(restrict_grants(admin, {std::nullopt, "a"}).grants(), (Grants{{Role::tenant_admin, "a"}}));
  EXPECT_EQ(restrict_grants(admin, {Role::user, ""}).grants(), (Grants{{Role::user, "*"}}));
  EXPECT_EQ(restrict_grants(mixed, {Role::user, "a"}).grants(), (Grants{{Role::user, "a"}}));
  EXPECT_EQ(restrict_grants(mixed, {Role::tenant_admin, "b"}).grants(), (Grants{{Role::user, "b"}}));
  EXPECT_EQ(restrict_grants(mixed, {Role::user, ""}).grants(),
            (Grants{{Role::viewer, ""}, {Role::user, "a"}, {Role::user, "b"}}));
  EXPECT_EQ(restrict_grants(mixed, {Role::administer, ""}).grants(), mixed);
}

TEST(RestrictionTest, LeavesNothingWithoutCommonRights) {
  EXPECT_FALSE(restrict_grants({{Role::user, "a"}}, {Role::user, "b"}).has_any_role());
  EXPECT_FALSE(restrict_grants({{Role::user, "a"}}, {Role::viewer, ""}).has_any_role());
  EXPECT_FALSE(restrict_grants({{Role::viewer, ""}}, {Role::user, "a"}).has_any_role());
  EXPECT_FALSE(restrict_grants({}, {Role::administer, ""}).has_any_role());
  // Not one that can be made, but it must not open anything.
  EXPECT_FALSE(is_valid_restriction({Role::operate, "a"}));
  EXPECT_FALSE(restrict_grants({{Role::administer, ""}}, {Role::operate, "a"}).has_any_role());
}

TEST(RestrictionTest, FollowsTheUsersCurrentRoles) {
  const Restriction operate{Role::operate, ""};
  EXPECT_TRUE(restrict_grants({{Role::administer, ""}}, operate).is_operator());
  EXPECT_FALSE(restrict_grants({{Role::viewer, ""}}, operate).is_operator());
}

const std::vector<std::string> kTenants{"a", "b", "c"};

std::vector<Grant> all_grants() {
  std::vector<Grant> grants;
  for (const Role role : kRoles) {
    if (!has_tenant(role)) {
      grants.push_back({role, ""});
      continue;
    }
    for (const char* tenant : {"a", "b", "*"}) grants.push_back({role, tenant});
  }
  return grants;
}

// Every answer of an Access, by question.
std::vector<bool> rights_of(const Access& access) {
  std::vector<bool> rights{access.is_admin(), access.is_operator(), access.sees_everything(), access.has_any_role(),
                           access.may_submit_somewhere()};
  for (const std::string& tenant : kTenants) {
    rights.insert(rights.end(), {access.sees_tenant(tenant), access.may_submit_to(tenant)});
    for (const char* owner : {"ada", "bob"}) {
      rights.insert(rights.end(), {access.sees(tenant, owner), access.may_change(tenant, owner),
                                   access.may_read_output(tenant, owner)});
    }
  }
  return rights;
}

bool is_subset(const std::vector<bool>& less, const std::vector<bool>& more) {
  for (std::size_t i = 0; i < less.size(); ++i) {
    if (less[i] && !more[i]) return false;
  }
  return true;
}

// All sets of at most three grants, and random larger ones, with all restrictions: none adds a right, neither one that
// the user lacks nor one that the restriction does not name.
TEST(RestrictionTest, NeverAddsARight) {
  const std::vector<Grant> grants = all_grants();
  std::vector<std::vector<Grant>> users{{}};
  for (const Grant& a : grants) {
    for (const Grant& b : grants) {
      for (const Grant& c : grants) users.push_back({a, b, c});
    }
  }
  RandomStream random(7, "restriction");
  for (int i = 0; i < 500; ++i) {
    std::vector<Grant> user;
    for (int n = 0; n < 6; ++n) user.push_back(grants[random.below(grants.size())]);
    users.push_back(std::move(user));
  }
  std::vector<Restriction> restrictions{{}, {std::nullopt, "a"}, {std::nullopt, "c"}};
  for (const Role role : kRoles) {
    for (const char* tenant : {"", "a", "b", "c"}) restrictions.push_back({role, tenant});
  }
  for (const std::vector<Grant>& user : users) {
    const Access access("ada", user);
    const std::vector<bool> before = rights_of(access);
    for (const Restriction& restriction : restrictions) {
      const Access restricted = restrict_access(access, restriction);
      EXPECT_EQ(restricted.user(), "ada");
      ASSERT_TRUE(is_subset(rights_of(restricted), before));
      if (!restriction.has_any() || !is_valid_restriction(restriction)) continue;
      const Role role = restriction.role.value_or(Role::tenant_admin);
      const std::string tenant = !has_tenant(role) ? "" : restriction.tenant.empty() ? "*" : restriction.tenant;
      ASSERT_TRUE(is_subset(rights_of(restricted), rights_of(Access("ada", {{role, tenant}}))))
          << fmt::format("{} {}", to_text(role), tenant);
      // Idempotent.
      ASSERT_EQ(restrict_access(restricted, restriction).grants(), restricted.grants());
    }
  }
}

}  // namespace
}  // namespace weft::access
