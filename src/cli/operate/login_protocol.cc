#include "cli/operate/login_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/operate/api_connection.h"

namespace weft::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t kSlowDown = 5;  // seconds that slow_down adds to the interval (RFC 8628, 3.5)
constexpr std::int64_t kMaxInterval = 300;
constexpr std::int64_t kMaxLifetime = std::int64_t{366} * 86'400;  // seconds
constexpr std::size_t kMaxText = 2000;

Error bad_answer(std::string_view what) {
  return {ErrorCode::internal, fmt::format("the server's answer has no valid {}", what), {}};
}

// A text that a terminal shows; empty if it is absent or not printable.
std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  std::string text = found->get<std::string>();
  return text.size() <= kMaxText && printable(text) == text ? text : std::string();
}

std::int64_t seconds_in(const json& object, const char* name, std::int64_t otherwise, std::int64_t most) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return otherwise;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(found->get<std::uint64_t>(), std::uint64_t(most)));
}

serve::ClientRequest post_to(std::string path, std::string body) {
  serve::ClientRequest request;
  request.method = "POST";
  request.target = std::move(path);
  request.body = std::move(body);
  return request;
}

// "authorization_pending" and the like (RFC 6749, 5.2); "" if the body has none.
std::string oauth_error(const serve::HttpResponse& response) {
  const json body = json::parse(response.body, nullptr, false);
  return body.is_object() ? text_in(body, "error") : std::string();
}

Error server_error(const serve::HttpResponse& response) {
  Error error = serve::problem_to_error(response);
  error.message = problem_text(response);
  return error;
}

}  // namespace

Result<Login> read_token_answer(std::string_view body, std::int64_t now_ms) {
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_object()) return bad_answer("JSON object");
  Login login;
  for (const auto& [name, token] :
       {std::pair{"access_token", &login.access_token}, std::pair{"refresh_token", &login.refresh_token}}) {
    const auto found = answer.find(name);
    if (found == answer.end() || !found->is_string()) return bad_answer(name);
    *token = oob::Secret(found->get<std::string>());
    if (token->empty() || !is_valid_token(token->reveal())) return bad_answer(name);
  }
  const std::int64_t lifetime = seconds_in(answer, "expires_in", 0, kMaxLifetime);
  if (lifetime <= 0) return bad_answer("expires_in");
  login.expires_ms = now_ms + lifetime * 1000;
  login.user = text_in(answer, "user");
  return login;
}

Result<DeviceCode> read_device_answer(std::string_view body) {
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_object()) return bad_answer("JSON object");
  DeviceCode code;
  code.user_code = text_in(answer, "user_code");
  code.verification_uri = text_in(answer, "verification_uri");
  code.complete_uri = text_in(answer, "verification_uri_complete");
  const auto handle = answer.find("handle");
  if (handle != answer.end() && handle->is_string()) code.handle = oob::Secret(handle->get<std::string>());
  if (code.user_code.empty()) return bad_answer("user_code");
  const auto is_web = [](std::string_view uri) { return uri.starts_with("https://") || uri.starts_with("http://"); };
  if (!is_web(code.verification_uri)) return bad_answer("verification_uri");
  if (!is_web(code.complete_uri)) code.complete_uri.clear();
  if (code.handle.empty() || code.handle.reveal().size() > kMaxText) return bad_answer("handle");
  code.interval_s = std::max<std::int64_t>(1, seconds_in(answer, "interval", code.interval_s, kMaxInterval));
  code.expires_s = std::max<std::int64_t>(1, seconds_in(answer, "expires_in", code.expires_s, 86'400));
  return code;
}

Result<DeviceCode> start_device_login(const SendFunction& send) {
  const Result<serve::HttpResponse> response = send(post_to("/login/device", "{}"));
  if (!response.ok()) return response.error();
  if (response->status == 404 || response->status == 501)
    return Error{
        ErrorCode::not_found, "the server has no OIDC provider to sign in with: use a token and --token-stdin", {}};
  if (response->status >= 400) return server_error(*response);
  return read_device_answer(response->body);
}

Result<Login> wait_for_device_login(const SendFunction& send, const DeviceCode& code, oob::Clock& clock) {
  const std::string body = fmt::format("{{\"handle\": {}}}", json_quote_secret(code.handle.reveal()));
  const Duration end = clock.now() + milliseconds(code.expires_s * 1000);
  const Error expired{ErrorCode::timeout, "the code has expired: run `weft login` again", {}};
  std::int64_t interval = code.interval_s;
  for (;;) {
    if (!clock.sleep(milliseconds(interval * 1000))) return Error{ErrorCode::conflict, "canceled: not signed in", {}};
    if (clock.now() >= end) return expired;
    const Result<serve::HttpResponse> response = send(post_to("/login/device/token", body));
    if (!response.ok()) {  // RFC 8628, 3.5: a client polls less often after a lost connection
      const ErrorCode problem = response.error().code;
      if (problem != ErrorCode::unavailable && problem != ErrorCode::timeout) return response.error();
      interval = std::min(interval * 2, kMaxInterval);
      continue;
    }
    if (response->status < 300) return read_token_answer(response->body, clock.wall_ms());
    const std::string error = oauth_error(*response);
    if (error == "authorization_pending") continue;
    if (error == "expired_token") return expired;
    if (error == "access_denied") return Error{ErrorCode::refused, "the sign-in was refused", {}};
    if (error != "slow_down" && response->status != 429) return server_error(*response);
    interval = std::min(std::max(interval + kSlowDown, retry_after_seconds(*response)), kMaxInterval);
  }
}

Result<Login> refresh_login(const SendFunction& send, const oob::Secret& refresh_token, std::int64_t now_ms) {
  const std::string body = fmt::format("{{\"refresh_token\": {}}}", json_quote_secret(refresh_token.reveal()));
  const Result<serve::HttpResponse> response = send(post_to("/login/refresh", body));
  if (!response.ok()) return response.error();
  if (response->status < 300) return read_token_answer(response->body, now_ms);
  Error error = server_error(*response);
  const bool is_rejected = response->status == 400 || response->status == 401 || response->status == 403;
  if (is_rejected) {
    error.code = ErrorCode::refused;
  } else if (error.code == ErrorCode::refused) {
    error.code = ErrorCode::unavailable;
  }
  return error;
}

}  // namespace weft::cli
