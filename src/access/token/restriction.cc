#include "access/token/restriction.h"

#include <algorithm>
#include <vector>

namespace weft::access {
namespace {

// What both allow, if one role expresses it.
std::optional<Grant> find_common(const Grant& a, const Grant& b) {
  if (has_tenant(a.role) && has_tenant(b.role)) {
    if (a.tenant != b.tenant && a.tenant != kAllTenants && b.tenant != kAllTenants) return std::nullopt;
    return Grant{std::min(a.role, b.role), a.tenant == kAllTenants ? b.tenant : a.tenant};
  }
  if (!has_tenant(a.role) && !has_tenant(b.role)) return Grant{std::min(a.role, b.role), {}};
  const Grant& global = has_tenant(a.role) ? b : a;
  const Grant& of_tenant = has_tenant(a.role) ? a : b;
  // An operator may do all that a tenant admin of every tenant may do. A viewer and a user of all tenants have in
  // common that they see everything.
  if (global.role != Role::viewer) return of_tenant;
  if (of_tenant.tenant == kAllTenants) return Grant{Role::viewer, {}};
  return std::nullopt;
}

Grant highest_grant(const Restriction& restriction) {
  const Role role = restriction.role.value_or(restriction.tenant.empty() ? Role::administer : Role::tenant_admin);
  if (!has_tenant(role)) return {role, {}};
  return {role, restriction.tenant.empty() ? std::string(kAllTenants) : restriction.tenant};
}

}  // namespace

bool is_valid_restriction(const Restriction& restriction) {
  return restriction.tenant.empty() || !restriction.role || has_tenant(*restriction.role);
}

Access restrict_access(const Access& access, const Restriction& restriction) {
  if (!restriction.has_any()) return access;
  std::vector<Grant> grants;
  if (!is_valid_restriction(restriction)) return {access.user(), {}};
  const Grant highest = highest_grant(restriction);
  for (const Grant& grant : access.grants()) {
    const std::optional<Grant> common = find_common(grant, highest);
    if (common && std::find(grants.begin(), grants.end(), *common) == grants.end()) grants.push_back(*common);
  }
  return {access.user(), std::move(grants)};
}

}  // namespace weft::access
