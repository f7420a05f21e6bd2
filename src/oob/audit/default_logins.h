// Factory default logins of BMCs. They are in manuals and in every scanner; a BMC that accepts one is open. HPE iLO
// (user Administrator) and newer Supermicro boards have a per-machine password printed on the tag: those cannot be
// tried, and need not be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oob/credentials/secret.h"

namespace weft::oob {

struct DefaultLogin {
  std::string_view makers;  // patterns as in audit/advisories.h, separated by "|"
  std::string_view user;
  std::string_view password;
  std::string_view source;
};

// Maximum login attempts per BMC: the lowest shipped lockout threshold is three failures, and one is left for an
// operator's typo.
inline constexpr std::size_t kMaxDefaultTries = 2;

[[nodiscard]] const std::vector<DefaultLogin>& default_logins();
// Logins to try on a BMC of this maker, most likely first, at most kMaxDefaultTries. For an unknown maker: the two that
// most makers share.
[[nodiscard]] std::vector<const DefaultLogin*> logins_to_try(std::string_view manufacturer);
// Whether this is a factory login of any maker.
[[nodiscard]] bool is_default_login(std::string_view user, const Secret& password);

}  // namespace weft::oob
