#include "access/identity/access.h"

#include <algorithm>
#include <utility>

#include "access/identity/identity.h"

namespace weft::access {

std::string_view to_text(Method method) {
  switch (method) {
    case Method::unix_socket:
      return "socket";
    case Method::certificate:
      return "certificate";
    case Method::token:
      return "token";
    case Method::bearer:
      return "bearer";
    case Method::browser:
      return "browser";
    case Method::cli:
      break;
  }
  return "cli";
}

std::string_view to_text(Role role) {
  switch (role) {
    case Role::viewer:
      return "viewer";
    case Role::user:
      return "user";
    case Role::tenant_admin:
      return "tenant-admin";
    case Role::operate:
      return "operator";
    case Role::administer:
      break;
  }
  return "admin";
}

std::optional<Role> find_role(std::string_view text) {
  for (const Role role : kRoles) {
    if (to_text(role) == text) return role;
  }
  return std::nullopt;
}

Access::Access(std::string user, std::vector<Grant> grants)
    : user_(std::move(user)),
      grants_(std::move(grants)),
      sees_all_tenants_(std::any_of(grants_.begin(), grants_.end(), [](const Grant& grant) {
        return has_tenant(grant.role) && grant.tenant == kAllTenants;
      })) {}

bool Access::highest(Role least) const {
  return std::any_of(grants_.begin(), grants_.end(),
                     [&](const Grant& grant) { return grant.role >= least && !has_tenant(grant.role); });
}

bool Access::holds(Role role, std::string_view tenant) const {
  return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
    if (!has_tenant(role)) return grant.role == role;
    return has_tenant(grant.role) && grant.role >= role && (grant.tenant == kAllTenants || grant.tenant == tenant);
  });
}

bool Access::sees_tenant(std::string_view tenant) const { return sees_everything() || holds(Role::user, tenant); }

bool Access::sees(std::string_view tenant, std::string_view owner) const {
  return sees_tenant(tenant) || (has_any_role() && owner == user_);
}

bool Access::may_submit_to(std::string_view tenant) const { return is_operator() || holds(Role::user, tenant); }

bool Access::may_submit_somewhere() const {
  return is_operator() ||
         std::any_of(grants_.begin(), grants_.end(), [](const Grant& grant) { return has_tenant(grant.role); });
}

bool Access::may_change(std::string_view tenant, std::string_view owner) const {
  if (is_operator() || holds(Role::tenant_admin, tenant)) return true;
  // A user who lost the tenant cannot change its jobs any more.
  return owner == user_ && holds(Role::user, tenant);
}

bool Access::may_read_output(std::string_view tenant, std::string_view owner) const {
  return may_change(tenant, owner);
}

std::optional<std::vector<std::string>> Access::submit_tenants() const {
  if (is_operator() || sees_all_tenants_) return std::nullopt;
  std::vector<std::string> tenants;
  for (const Grant& grant : grants_) {
    if (has_tenant(grant.role)) tenants.push_back(grant.tenant);
  }
  return tenants;
}

}  // namespace weft::access
