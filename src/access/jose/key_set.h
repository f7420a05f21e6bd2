// JSON Web Key Sets (RFC 7517): the public keys that an OIDC provider signs with. Keys that weft cannot or must not
// verify with are left out, as section 5 demands, with the reason; anything ambiguous refuses the whole set.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/jose/key.h"
#include "base/result.h"

namespace weft::access {

inline constexpr std::size_t kMaxKeySetBytes = std::size_t{256} << 10U;
inline constexpr std::size_t kMaxKeys = 100;
inline constexpr std::size_t kMaxKeyIdBytes = 256;

struct WebKey {
  std::string id;                      // `kid`; "": none. Only compared, never used as a name of anything
  std::optional<Algorithm> algorithm;  // `alg`: the only one permitted with this key
  PublicKey key;
};

struct UnusableKey {
  std::string id;
  std::string reason;
};

struct KeySet {
  std::vector<WebKey> keys;
  std::vector<UnusableKey> unusable;

  // The key that a token with this algorithm and `kid` must be signed with. Without a `kid` there must be exactly one
  // key for the algorithm. not_found: no such key (it may have been added since); refused: the key must not be used.
  [[nodiscard]] Result<const WebKey*> find(Algorithm algorithm, const std::optional<std::string>& id) const;
};

[[nodiscard]] Result<KeySet> parse_key_set(std::string_view json);

}  // namespace weft::access
