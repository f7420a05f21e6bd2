#include "kube/api_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

constexpr std::size_t kMaxMessageBytes = 2048;
constexpr std::size_t kMaxCauses = 64;
constexpr int kMaxRetryAfter = 3600;

std::string text_of(const Value& value, std::initializer_list<std::string_view> keys) {
  return printable(oob::raw_text(value, keys), kMaxMessageBytes);
}

ErrorCode code_of(const ApiCall& call, int status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::refused;
    case 404:
    case 410:
      return ErrorCode::not_found;
    case 409:
      return ErrorCode::conflict;
    case 429:
      return ErrorCode::unavailable;
    default:
      break;
  }
  if (status >= 500) return call.writes() ? ErrorCode::timeout : ErrorCode::unavailable;
  return ErrorCode::invalid_input;
}

std::string forbidden_text(const ApiCall& call) {
  std::string resource(call.resource.plural);
  if (!call.subresource.empty()) resource.append("/").append(call.subresource);
  const std::string scope = call.object.kube_namespace.empty()
                                ? std::string("cluster-wide")
                                : "in namespace " + in_backticks(call.object.kube_namespace);
  return fmt::format("not permitted: needs the verb `{}` on `{}` in API group `{}` {}", call.verb, resource,
                     call.resource.group, scope);
}

std::string owners_text(const ApiStatus& status) {
  std::string text;
  for (const StatusCause& cause : status.causes) {
    if (cause.reason != "FieldManagerConflict") continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", cause.field, cause.message);
  }
  return text;
}

std::string explain(const ApiCall& call, const ApiStatus& status) {
  if (status.code == 403) return forbidden_text(call);
  if (status.code == 401) return "the server does not accept the credentials";
  if (const std::string owners = owners_text(status); !owners.empty()) {
    return "fields belong to another field manager: " + owners;
  }
  if (status.code >= 500 && call.writes()) {
    return fmt::format("the server failed with HTTP status {}; the request may have been executed", status.code);
  }
  return fmt::format("HTTP status {}{}{}", status.code, status.reason.empty() ? "" : " ", status.reason);
}

}  // namespace

Result<Value> read_reply_json(std::string_view text) {
  return oob::read_json_reply(text, {kMaxReplyNodes, kMaxReplyDepth});
}

bool ApiStatus::has_cause(std::string_view cause) const {
  return std::any_of(causes.begin(), causes.end(), [&](const StatusCause& one) { return one.reason == cause; });
}

ApiStatus read_status(const Value& object) {
  ApiStatus status;
  const std::optional<double> code = oob::number(object, {"code"});
  if (code && *code >= 100 && *code <= 599) status.code = static_cast<int>(*code);
  status.reason = text_of(object, {"reason"});
  status.message = text_of(object, {"message"});
  const std::optional<double> wait = oob::number(object, {"details", "retryAfterSeconds"});
  if (wait && *wait > 0) status.retry_after = static_cast<int>(std::min<double>(*wait, kMaxRetryAfter));
  for (const Value& cause : oob::list(object, {"details", "causes"})) {
    if (status.causes.size() == kMaxCauses) break;
    status.causes.push_back({text_of(cause, {"reason"}), text_of(cause, {"field"}), text_of(cause, {"message"})});
  }
  return status;
}

ApiStatus read_status(const ApiResponse& response) {
  ApiStatus status;
  const Result<Value> body = read_reply_json(response.body);
  if (body.ok() && oob::raw_text(*body, {"kind"}) == "Status") {
    status = read_status(*body);
  } else {
    status.message = printable(response.body, 200);
  }
  status.code = response.status;  // what HTTP says counts
  if (response.retry_after) status.retry_after = response.retry_after;
  return status;
}

bool is_expired(const ApiStatus& status) {
  return status.code == 410 || status.reason == "Expired" || status.reason == "Gone";
}

std::string describe(const ApiCall& call) {
  std::string text = fmt::format("{} {}", call.verb, call.resource.plural);
  if (!call.subresource.empty()) text.append("/").append(call.subresource);
  if (!call.object.name.empty()) return fmt::format("{} {}", text, in_backticks(call.object.text()));
  if (call.object.kube_namespace.empty()) return text;
  return fmt::format("{} in namespace {}", text, in_backticks(call.object.kube_namespace));
}

Error to_error(const ApiCall& call, const ApiStatus& status) {
  std::string message = fmt::format("{}: {}", describe(call), explain(call, status));
  if (!status.message.empty()) message += fmt::format(" (server: {})", status.message);
  return Error{code_of(call, status.code), std::move(message), {}};
}

}  // namespace weft::kube
