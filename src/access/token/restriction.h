// A token may be restricted to less than its user may do. What it may do is computed at each use, from the roles that
// the user has then: a user who loses a role loses it in all tokens too.
#pragma once

#include <optional>
#include <string>

#include "access/identity/access.h"

namespace weft::access {

struct Restriction {
  std::optional<Role> role;  // at most this role
  std::string tenant;        // at most this tenant; "": all of the user's

  [[nodiscard]] bool has_any() const { return role.has_value() || !tenant.empty(); }
  friend bool operator==(const Restriction&, const Restriction&) = default;
};

// Whether the restriction names a role and a tenant that go together: viewer, operator and admin have no tenant.
[[nodiscard]] bool is_valid_restriction(const Restriction& restriction);

// What both the user's roles and the restriction allow; a restriction never adds a right. The user's own jobs stay
// visible, as for the user itself, as long as a role is left. A part that no role can express is left out: a viewer's
// token that is restricted to one tenant may do nothing.
[[nodiscard]] Access restrict_access(const Access& access, const Restriction& restriction);

}  // namespace weft::access
