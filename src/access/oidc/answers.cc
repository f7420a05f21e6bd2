#include "access/oidc/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/jose/strict_json.h"
#include "access/jose/token.h"
#include "base/utf8.h"

namespace weft::access {
namespace {

constexpr std::int64_t kMaxPollSeconds = 300;
constexpr std::int64_t kMaxDeviceLoginSeconds = 3600;
constexpr std::size_t kMaxCodeBytes = 2048;
constexpr std::size_t kMaxUserCodeBytes = 64;

Error wrong(std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; }

// A problem of the URL in a member of a document.
Error in_member(const Error& error, std::string_view name) {
  return Error{error.code, fmt::format("`{}`: {}", name, error.message), {}};
}

Result<std::string> require_url(const YamlNode& document, std::string_view name, PlainHttp plain) {
  Result<std::string> url = require_text(document, name);
  if (!url.ok()) return url;
  if (const Status good = check_url(*url, plain); !good.ok()) return in_member(good.error(), name);
  return url;
}

Result<std::string> find_url(const YamlNode& document, std::string_view name, PlainHttp plain) {
  if (document.find(name) == nullptr) return std::string();
  return require_url(document, name, plain);
}

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// RFC 9110, sections 15.5.9 and 15.6, RFC 6585, section 4: of the provider, not of the request. It may pass.
bool is_transient(int status) { return status == 408 || status == 429 || status >= 500; }

// The answer of an endpoint that did not answer with 200: RFC 6749, section 5.2.
Result<TokenAnswer> parse_error_answer(int status, std::string_view json) {
  if (is_transient(status))
    return Error{ErrorCode::unavailable, fmt::format("the provider answered with status {}", status), {}};
  const Result<YamlNode> document = parse_strict_object(json, "the provider's answer", kMaxAnswerBytes);
  if (!document.ok()) return wrong(fmt::format("the provider answered with status {}", status));
  const Result<std::string> error = require_text(*document, "error");
  if (!error.ok()) return wrong(fmt::format("the provider answered with status {}", status));
  TokenAnswer answer;
  answer.error = printable(*error, 60);
  if (const Result<std::optional<std::string>> text = find_text(*document, "error_description"); text.ok()) {
    answer.detail = printable(text->value_or(""), 200);
  }
  return answer;
}

Result<std::int64_t> find_seconds(const YamlNode& document, std::string_view name, std::int64_t fallback,
                                  std::int64_t most) {
  const Result<std::optional<std::int64_t>> given = find_date(document, name);
  if (!given.ok()) return given.error();
  return std::clamp<std::int64_t>(given->value_or(fallback), 1, most);
}

}  // namespace

Result<ProviderMetadata> parse_discovery(std::string_view json, std::string_view issuer, PlainHttp plain) {
  const Result<YamlNode> document = parse_strict_object(json, "the discovery document", kMaxDiscoveryBytes);
  if (!document.ok()) return document.error();
  const Result<std::string> named = require_text(*document, "issuer");
  if (!named.ok()) return named.error();
  if (*named != issuer) {
    return Error{
        ErrorCode::refused,
        fmt::format("the discovery document is of the issuer {}, not {}", in_backticks(*named), in_backticks(issuer)),
        {}};
  }
  Result<std::string> authorization = require_url(*document, "authorization_endpoint", plain);
  if (!authorization.ok()) return authorization.error();
  Result<std::string> token = require_url(*document, "token_endpoint", plain);
  if (!token.ok()) return token.error();
  Result<std::string> keys = require_url(*document, "jwks_uri", plain);
  if (!keys.ok()) return keys.error();
  Result<std::string> device = find_url(*document, "device_authorization_endpoint", plain);
  if (!device.ok()) return device.error();
  const Result<std::optional<bool>> names = find_truth(*document, "authorization_response_iss_parameter_supported");
  if (!names.ok()) return names.error();
  return ProviderMetadata{.issuer = *named,
                          .authorization_endpoint = std::move(authorization).value(),
                          .token_endpoint = std::move(token).value(),
                          .jwks_uri = std::move(keys).value(),
                          .device_authorization_endpoint = std::move(device).value(),
                          .names_issuer_in_response = names->value_or(false)};
}

Result<TokenAnswer> parse_token_answer(int status, std::string_view json) {
  if (status != 200) return parse_error_answer(status, json);
  const Result<YamlNode> document = parse_strict_object(json, "the provider's answer", kMaxAnswerBytes);
  if (!document.ok()) return document.error();
  Result<std::string> token = require_text(*document, "id_token");
  if (!token.ok()) return token.error();
  if (token->size() > kMaxTokenBytes) return wrong(fmt::format("`id_token` has more than {} bytes", kMaxTokenBytes));
  TokenAnswer answer;
  answer.id_token = std::move(token).value();
  return answer;
}

Result<DeviceLogin> parse_device_answer(int status, std::string_view json, PlainHttp plain) {
  if (status != 200) {
    const Result<TokenAnswer> answer = parse_error_answer(status, json);
    if (!answer.ok()) return answer.error();
    return Error{ErrorCode::refused,
                 fmt::format("the provider refused a device login: {} {}", answer->error, answer->detail),
                 {}};
  }
  const Result<YamlNode> document = parse_strict_object(json, "the provider's answer", kMaxAnswerBytes);
  if (!document.ok()) return document.error();
  DeviceLogin login;
  Result<std::string> code = require_text(*document, "device_code");
  if (!code.ok()) return code.error();
  if (code->size() > kMaxCodeBytes) return wrong(fmt::format("`device_code` has more than {} bytes", kMaxCodeBytes));
  login.device_code = oob::Secret(std::move(code).value());
  Result<std::string> user_code = require_text(*document, "user_code");
  if (!user_code.ok()) return user_code.error();
  if (user_code->size() > kMaxUserCodeBytes || !is_printable_ascii(*user_code)) {
    return wrong(fmt::format("`user_code` is not up to {} ASCII characters", kMaxUserCodeBytes));
  }
  login.user_code = std::move(user_code).value();
  // Shown to a person who is to open them.
  Result<std::string> uri = require_url(*document, "verification_uri", plain);
  if (!uri.ok()) return uri.error();
  login.verification_uri = std::move(uri).value();
  Result<std::string> complete = find_url(*document, "verification_uri_complete", plain);
  if (!complete.ok()) return complete.error();
  login.verification_uri_complete = std::move(complete).value();
  if (document->find("expires_in") == nullptr) return wrong("`expires_in` is missing");
  const Result<std::int64_t> expires = find_seconds(*document, "expires_in", 0, kMaxDeviceLoginSeconds);
  if (!expires.ok()) return expires.error();
  login.expires_in_s = *expires;
  const Result<std::int64_t> interval = find_seconds(*document, "interval", kDefaultPollSeconds, kMaxPollSeconds);
  if (!interval.ok()) return interval.error();
  login.interval_s = *interval;
  return login;
}

}  // namespace weft::access
