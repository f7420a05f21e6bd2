// Bytes as a JSON Web Token, with the key set, the rules and the clock of the seeds. What is accepted is one of the
// tokens that were signed: whatever else the bytes say, no key made a signature for it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "access/jose/token.h"
#include "base/base64.h"
#include "base/check.h"
#include "base/text.h"

namespace weft::access {
namespace {

constexpr std::int64_t kNow = 1'760'000'000;

// Public keys; the private ones, with which the seeds were signed, are gone.
constexpr std::string_view kKeys =
    R"({"keys": [{"kty": "RSA", "kid": "rsa", "e": "AQAB", "n": ")"
    "wGeX4bAA5WAv-i_8bYej21GUDsPgrsLHZLGF306S1WoIwb4gwtOVqJxHwXsiLVD38eBzvt8n2X2IxaW0q0n4JkdPsK"
    "ak7oG3bq0fPl6IteMm2uNrhN-ZHzNePQBx7ko_vwqi8ndK5DwW35Ef7A6RFuMKUz2r4g75q3XujxO73HGa4D4WoTM6"
    "Lv8mXzxcX3EyNv_cyy1xYWTBjUTfIAMulS0hPPN_oR1zoUfGKnmTRxVP1Z3QfB7X1bqLQq5658MhPSDRQw6zbwDNQB"
    "xvZPXMI4ww7r5rmh8-HoHJL68uZom5evflVkr6kzT6ZU1Li24soPqqVA5UuwjFP_89k0SS-w"
    R"("}, {"kty": "EC", "kid": "ec", "crv": "P-256", "x": "tkjzrcKgQ4F7oyohxy1sw5RbgV9KQn9DFaWO_qhS98w",
    "y": "ji5tg_RZbIPVhO9n1wz_qL2bYF2is9-gaK5sD0zhD1k"}]})";
constexpr std::string_view kHeader = "eyJhbGciOiAiRVMyNTYiLCAia2lkIjogImVjIn0";  // ES256 with the key "ec"

void check_claims(const Claims& claims) {
  CHECK(claims.user == "ada" && claims.subject == "8f2c", "the user of the signed tokens");
  CHECK(claims.groups.size() == 2 && claims.expires_s > kNow, "their groups and time");
}

}  // namespace
}  // namespace weft::access

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::access;
  if (size > kMaxTokenBytes + 64) return 0;
  static const KeySet keys = parse_key_set(kKeys).value();
  std::string text(data, data + size);
  if (text.ends_with('\n')) text.pop_back();
  TokenRules rules;
  rules.algorithms.assign(std::begin(kAlgorithms), std::end(kAlgorithms));
  rules.issuer = "https://id.example.org";
  rules.audience = "weft";
  rules.authorized_parties = {"weft"};
  rules.user_claim = "preferred_username";
  for (const JwtKind kind : {JwtKind::access_token, JwtKind::id_token}) {
    rules.kind = kind;
    const weft::Result<Claims> claims = verify_token(text, keys, rules, kNow);
    if (claims.ok()) {
      check_claims(*claims);
    } else {
      CHECK(!claims.error().message.empty(), "a refusal says why");
    }
  }
  // The text as header and as claims, so that mutations need not hit upon base64url.
  const std::string part = weft::encode_base64url(text);
  for (const std::string& token : {part + ".e30.AA", std::string(kHeader) + "." + part + ".AA"}) {
    const weft::Result<UnverifiedToken> parsed = parse_jwt(token);
    if (parsed.ok()) CHECK(!parsed->signature.empty() && token.starts_with(parsed->signed_part), "a signed part");
    CHECK(!verify_token(token, keys, rules, kNow).ok(), "no key signed it");
  }
  const std::optional<std::string> decoded = weft::decode_base64url(text);
  CHECK(!decoded || weft::encode_base64url(*decoded) == text, "one text per byte string");
  return 0;
}
