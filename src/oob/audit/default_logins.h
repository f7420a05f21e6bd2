// Logins that makers ship or shipped BMCs with. They are in manuals and in every scanner; a BMC that takes one is open.
// HPE's iLO has Administrator with a password printed on the machine's tag, as have newer Supermicro boards: those
// cannot be tried, and need not be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oob/credentials/secret.h"

namespace weft::oob {

struct DefaultLogin {
  std::string_view makers;  // patterns as in audit/advisories.h, "|" between
  std::string_view user;
  std::string_view password;
  std::string_view source;
};

// A BMC is asked so often at most: the lowest threshold of a lockout that is shipped is three failures, and one of them
// belongs to whoever mistypes next.
inline constexpr std::size_t kMaxDefaultTries = 2;

[[nodiscard]] const std::vector<DefaultLogin>& default_logins();
// Those worth a try on a BMC of this maker, likeliest first, kMaxDefaultTries at most. An unknown maker: the two that
// most makers share.
[[nodiscard]] std::vector<const DefaultLogin*> logins_to_try(std::string_view manufacturer);
// Whether this is somebody's factory login, whoever made the BMC.
[[nodiscard]] bool is_default_login(std::string_view user, const Secret& password);

}  // namespace weft::oob
