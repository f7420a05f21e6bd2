// JSON Web Tokens (RFC 7519, RFC 8725): parses the compact form, verifies claims and signature, and returns who the
// token is about. Nothing of a token is used before the signature has been verified, except to decide which key that
// takes and to refuse it sooner. Errors are for the log: the client is only told that its token is not accepted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/jose/key_set.h"
#include "base/result.h"
#include "base/yaml.h"

namespace weft::access {

inline constexpr std::size_t kMaxTokenBytes = std::size_t{16} << 10U;
inline constexpr std::size_t kMaxUserNameBytes = 256;
inline constexpr std::size_t kMaxGroups = 500;

enum class JwtKind : std::uint8_t {
  id_token,     // result of a login: made for weft (OpenID Connect Core, section 3.1.3.7)
  access_token  // sent with a request by any client that has it (RFC 9068)
};

// What a token must be to be accepted.
struct TokenRules {
  JwtKind kind = JwtKind::access_token;
  std::vector<Algorithm> algorithms{Algorithm::rs256, Algorithm::es256};
  std::string issuer;
  std::string audience;                         // one of the token's
  std::vector<std::string> authorized_parties;  // `azp` must be one of them: always in an ID token that has it, and in
                                                // every token with several audiences
  std::optional<std::string> nonce;             // of an ID token
  std::string user_claim = "sub";
  std::string groups_claim = "groups";
  std::int64_t clock_skew_s = 60;
};

// Of a token whose signature has been verified.
struct Claims {
  std::string issuer;
  std::string subject;
  std::string user;  // valid UTF-8, printable, not empty, at most kMaxUserNameBytes
  std::vector<std::string> groups;
  std::int64_t expires_s = 0;            // since 1970; without the clock skew
  std::optional<std::int64_t> issued_s;  // since 1970
  std::string token_id;                  // `jti`; "": none
  std::string session_id;                // `sid` of the provider; "": none
};

// A token that has been taken apart, and is not verified.
struct UnverifiedToken {
  Algorithm algorithm = Algorithm::rs256;
  std::optional<std::string> key_id;
  std::string type;              // `typ`, in lower case, without "application/"; "": none
  std::string_view signed_part;  // of the text that was parsed
  YamlNode claims;
  std::string signature;
};

// Strict: three parts of unpadded base64url, JSON objects without repeated members, no extension that must be
// understood (`crit`), no key inside the header or by URL.
[[nodiscard]] Result<UnverifiedToken> parse_jwt(std::string_view text);

// Error codes: invalid_input (malformed), refused (a rule), not_found (the key set has no key of that name; everything
// else but the signature has been checked).
[[nodiscard]] Result<Claims> verify_token(std::string_view text, const KeySet& keys, const TokenRules& rules,
                                          std::int64_t now_s);

}  // namespace weft::access
