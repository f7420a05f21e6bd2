// Bytes as a token, as the name of a credential, as a return path and as a user name: what is accepted has one
// spelling, and cannot end a line, a header or a path.
#include <cstddef>
#include <cstdint>
#include <string>

#include "access/oidc/provider.h"
#include "access/policy/user_name.h"
#include "access/token/session_store.h"
#include "access/token/token_text.h"
#include "base/check.h"

namespace weft::access {
namespace {

void check_token(const std::string& text) {
  if (const std::optional<ParsedToken> token = parse_token(text)) {
    CHECK(format_token(*token).reveal() == text, "one spelling for each token");
    CHECK(parse_credential_name(credential_name(token->kind, token->id)).has_value(), "a token has a name");
    CHECK(csrf_token_of(text).has_value() == (token->kind == TokenKind::session), "CSRF tokens are for browsers");
  } else {
    CHECK(!csrf_token_of(text), "no CSRF token without a session");
  }
  if (const std::optional<CredentialName> name = parse_credential_name(text))
    CHECK(credential_name(name->kind, name->id) == text, "one spelling for each name");
  if (const std::optional<SecretHash> hash = SecretHash::from_hex(text))
    CHECK(hash->hex() == text, "one spelling for each hash");
}

void check_names(const std::string& text) {
  const bool has_control = text.find_first_of(std::string("\0\r\n\t\x7f", 5)) != std::string::npos;
  const std::string path = safe_return_path(text);
  CHECK((path == text || path == "/") && path.find_first_of(std::string("\0\r\n\t\x7f\\", 6)) == std::string::npos &&
            path.starts_with('/') && !path.starts_with("//"),
        "a path of ours");
  if (check_user_name(text, "weft").ok())
    CHECK(!has_control && text.find_first_of(":/") == std::string::npos && text != "root" && text != "weft" &&
              check_group_name(text).ok(),
          "a user name");
}

}  // namespace
}  // namespace weft::access

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const std::string text(data, data + size);
  weft::access::check_token(text);
  weft::access::check_names(text);
  return 0;
}
