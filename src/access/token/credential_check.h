// What a token store answers: the identity that a token or session proves, or why it is refused. Outside, all refusals
// are the same; the reason is for the audit log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "access/identity/identity.h"
#include "access/token/restriction.h"

namespace weft::access {

enum class Refusal : std::uint8_t {
  unknown,  // not a token of this server, or its secret is wrong
  expired,
  revoked
};
[[nodiscard]] constexpr std::string_view to_text(Refusal refusal) {
  return refusal == Refusal::unknown ? "unknown" : refusal == Refusal::expired ? "expired" : "revoked";
}

struct CredentialUse {
  Identity identity;
  Restriction restriction;      // for restrict_access()
  std::string created_by;       // the user who created a static token; else the user itself
  std::int64_t expires_ms = 0;  // at the latest
};

struct CredentialCheck {
  std::optional<CredentialUse> use;
  Refusal refusal = Refusal::unknown;  // without `use`
  std::string credential;              // "weft_t_ID"; "" if unknown
};

}  // namespace weft::access
