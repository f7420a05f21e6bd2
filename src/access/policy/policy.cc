#include "access/policy/policy.h"

#include <algorithm>

#include "access/policy/user_name.h"

namespace weft::access {
namespace {

// Ways to sign in whose names come from this machine: the kernel, or an administrator who created a token.
bool is_local_name(Method method) { return method == Method::unix_socket || method == Method::token; }

bool applies_to(const RoleRule& rule, const Identity& identity) {
  return rule.users.contains(identity.user) ||
         std::any_of(identity.groups.begin(), identity.groups.end(),
                     [&](const std::string& group) { return rule.groups.contains(group); });
}

}  // namespace

AccessPolicy AccessPolicy::local(std::string server_user) {
  AccessPolicy policy;
  policy.server_user = std::move(server_user);
  return policy;
}

Status AccessPolicy::check_identity(const Identity& identity) const {
  if (!is_local_name(identity.method)) return check_user_name(identity.user, server_user);
  if (identity.user.empty()) return Error{ErrorCode::refused, "the identity has no name", {}};
  return {};
}

Access AccessPolicy::access_of(const Identity& identity) const {
  std::vector<Grant> grants;
  const auto add = [&](const Grant& grant) {
    if (std::find(grants.begin(), grants.end(), grant) == grants.end()) grants.push_back(grant);
  };
  if (!check_identity(identity).ok()) return {};
  if (is_local_name(identity.method) && (identity.user == "root" || identity.user == server_user)) {
    add({Role::administer, {}});
  } else if (!from_file) {
    add({Role::viewer, {}});
    add({Role::user, std::string(kAllTenants)});
  }
  for (const RoleRule& rule : roles) {
    if (applies_to(rule, identity)) add(rule.grant);
  }
  return {identity.user, std::move(grants)};
}

}  // namespace weft::access
