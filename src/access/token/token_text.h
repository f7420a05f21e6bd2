// Token strings: weft_t_ID_SECRET (static), weft_a_... (access token of a CLI login), weft_r_... (its refresh token)
// and weft_s_... (browser session). ID is 12 characters of [a-z0-9] and no secret; SECRET is 32 random bytes as
// base64url. Servers store SHA-256(SECRET) only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "access/secret/random.h"
#include "oob/credentials/secret.h"

namespace weft::access {

enum class TokenKind : char { fixed = 't', access = 'a', refresh = 'r', session = 's' };

struct ParsedToken {
  TokenKind kind = TokenKind::fixed;
  std::string id;
  oob::Secret secret;  // 43 characters
};

// Exactly the form above: no spaces, no padding, no second spelling of the same bytes.
[[nodiscard]] std::optional<ParsedToken> parse_token(std::string_view text);
[[nodiscard]] oob::Secret format_token(const ParsedToken& token);
[[nodiscard]] ParsedToken make_token(TokenKind kind, std::string id, const RandomFill& random);

// "weft_t_ID": names the token in lists, in the audit log, and as Identity::credential.
[[nodiscard]] std::string credential_name(TokenKind kind, std::string_view id);
struct CredentialName {
  TokenKind kind = TokenKind::fixed;
  std::string id;
};
[[nodiscard]] std::optional<CredentialName> parse_credential_name(std::string_view text);

class SecretHash {
 public:
  SecretHash() = default;
  explicit SecretHash(const oob::Secret& secret);
  // 64 hexadecimal digits in lower case.
  [[nodiscard]] static std::optional<SecretHash> from_hex(std::string_view text);
  [[nodiscard]] std::string hex() const;
  // In a time that does not depend on the bytes.
  [[nodiscard]] bool matches(const SecretHash& other) const;

 private:
  std::array<unsigned char, 32> bytes_{};
};

// In a time that depends on the lengths only.
[[nodiscard]] bool is_equal_secret(std::string_view a, std::string_view b);

}  // namespace weft::access
