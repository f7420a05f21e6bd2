// What one identity may do: its roles, and the questions that the API asks before it shows or changes something. The
// only place where these are answered. It knows nothing of HTTP, and not where roles come from (policy/).
//
// Roles include each other: an admin is an operator, an operator a viewer; a tenant admin is a user of its tenant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::access {

enum class Role : std::uint8_t {
  viewer,        // sees everything but the output of jobs, and changes nothing
  user,          // of a tenant: sees the tenant's jobs, submits jobs, changes its own
  tenant_admin,  // of a tenant: changes and reads the output of every job of it
  operate,       // "operator": changes nodes, reservations, leases, devices and every job
  administer     // "admin": also tokens, approvals and the audit log
};
inline constexpr Role kRoles[] = {Role::viewer, Role::user, Role::tenant_admin, Role::operate, Role::administer};
[[nodiscard]] std::string_view to_text(Role role);  // "viewer", "user", "tenant-admin", "operator", "admin"
[[nodiscard]] std::optional<Role> find_role(std::string_view text);

// Tenants are those of roles user and tenant-admin; kAllTenants: every one.
inline constexpr std::string_view kAllTenants = "*";
struct Grant {
  Role role = Role::viewer;
  std::string tenant;  // "" for the other roles
  friend bool operator==(const Grant&, const Grant&) = default;
};
[[nodiscard]] constexpr bool has_tenant(Role role) { return role == Role::user || role == Role::tenant_admin; }

class Access {
 public:
  Access() = default;  // no role: nothing but signing in
  Access(std::string user, std::vector<Grant> grants);

  [[nodiscard]] const std::string& user() const { return user_; }
  [[nodiscard]] const std::vector<Grant>& grants() const { return grants_; }
  [[nodiscard]] bool has_any_role() const { return !grants_.empty(); }

  [[nodiscard]] bool is_admin() const { return highest(Role::administer); }
  [[nodiscard]] bool is_operator() const { return highest(Role::operate); }
  // Every tenant's objects. Otherwise other tenants appear in totals of the cluster only.
  [[nodiscard]] bool sees_everything() const { return is_operator() || holds(Role::viewer, {}) || sees_all_tenants_; }
  [[nodiscard]] bool sees_tenant(std::string_view tenant) const;
  // An object of a tenant with an owner, such as a job.
  [[nodiscard]] bool sees(std::string_view tenant, std::string_view owner) const;
  [[nodiscard]] bool may_submit_to(std::string_view tenant) const;
  [[nodiscard]] bool may_submit_somewhere() const;
  [[nodiscard]] bool may_change(std::string_view tenant, std::string_view owner) const;
  [[nodiscard]] bool may_read_output(std::string_view tenant, std::string_view owner) const;
  // Those that it may submit to; nullopt: all.
  [[nodiscard]] std::optional<std::vector<std::string>> submit_tenants() const;

 private:
  [[nodiscard]] bool highest(Role least) const;
  [[nodiscard]] bool holds(Role role, std::string_view tenant) const;

  std::string user_;
  std::vector<Grant> grants_;
  bool sees_all_tenants_ = false;
};

}  // namespace weft::access
