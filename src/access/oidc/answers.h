// What an OIDC provider answers: its discovery document (OpenID Connect Discovery 1.0), the token endpoint (RFC 6749)
// and the device authorization endpoint (RFC 8628). Parsers only; bytes from the network may be anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "access/oidc/http_fetch.h"
#include "base/result.h"
#include "oob/credentials/secret.h"

namespace weft::access {

inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kMaxDiscoveryBytes = std::size_t{256} << 10U;

struct ProviderMetadata {
  std::string issuer;
  std::string authorization_endpoint;
  std::string token_endpoint;
  std::string jwks_uri;
  std::string device_authorization_endpoint;  // "": the provider has no device login
  bool names_issuer_in_response = false;      // RFC 9207: each response of the authorization endpoint has `iss`
};
// The issuer must be exactly the one given, and every address https.
[[nodiscard]] Result<ProviderMetadata> parse_discovery(std::string_view json, std::string_view issuer, PlainHttp plain);

struct TokenAnswer {
  std::string id_token;  // not verified
  std::string error;     // RFC 6749, section 5.2, such as "authorization_pending"; "": none
  std::string detail;    // error_description, for the log
};
// Of status 200 an ID token; of others an error code. Anything else is an Error: `unavailable` if it may pass, such as
// status 503.
[[nodiscard]] Result<TokenAnswer> parse_token_answer(int status, std::string_view json);

inline constexpr std::int64_t kDefaultPollSeconds = 5;
struct DeviceLogin {
  oob::Secret device_code;
  std::string user_code;
  std::string verification_uri;
  std::string verification_uri_complete;  // "": none
  std::int64_t interval_s = kDefaultPollSeconds;
  std::int64_t expires_in_s = 0;
};
[[nodiscard]] Result<DeviceLogin> parse_device_answer(int status, std::string_view json, PlainHttp plain);

}  // namespace weft::access
