// Which names an identity may have. Names come from OIDC providers, client certificates and administrators, and end in
// the audit log, in job records and in look-ups of Unix accounts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::access {

inline constexpr std::size_t kMaxNameBytes = 256;

// Refused: "root" in any case, and the server's own account `server_user`, which an outside name could otherwise
// impersonate; "", "*", invalid UTF-8, control and invisible characters, ':', '/', '\', ',', quotes and angle brackets,
// spaces at the ends or two in a row, '-' or '.' at the start; more than 256 bytes.
[[nodiscard]] Status check_user_name(std::string_view name, std::string_view server_user = {});
// The same without the reserved names and with ':', '/' and ',' allowed: Keycloak sends "/research/admins", LDAP
// "cn=research,ou=groups".
[[nodiscard]] Status check_group_name(std::string_view name);

}  // namespace weft::access
