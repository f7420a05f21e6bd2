#include "oob/redfish/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/quoting.h"
#include "base/utf8.h"
#include "oob/bmc/cause.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

constexpr const char* kRoot = "/redfish/v1/";
// The standard URI of the session collection (DSP8010), for services whose root does not link to it.
constexpr const char* kSessions = "/redfish/v1/SessionService/Sessions";
// Of an error message from a BMC.
constexpr std::size_t kMaxMessageChars = 200;
// Sessions read when the BMC has reached its session limit. iDRAC allows 8, bmcweb 64.
constexpr std::size_t kMaxSessionsRead = 64;

HttpLogin copy_basic(const HttpLogin& login) { return {Secret(), login.user, login.password}; }

ErrorCode code_of(int status) {
  switch (status) {
    // Understood and rejected: nothing was done.
    case 400:
    case 412:
    case 413:
    case 415:
    case 422:
    case 428:
    case 401:
    case 403:
      return ErrorCode::refused;
    case 404:
    case 405:
    case 410:
    case 501:
      return ErrorCode::not_found;
    case 409:
    case 423:
    case 429:
    case 503:
      return ErrorCode::conflict;
    default:
      return status >= 500 ? ErrorCode::unavailable : ErrorCode::invalid_input;
  }
}

Value json_or_null(const HttpReply& reply) {
  if (reply.body.empty()) return {};
  Result<Value> value = read_json_reply(reply.body);
  return value.ok() ? std::move(value).value() : Value();
}

}  // namespace

RedfishSession::RedfishSession(const Endpoint& endpoint, const std::string& user, const Secret& password, Clock& clock)
    : endpoint_(endpoint), clock_(clock), client_(endpoint, clock), quirk_(&all_quirks().back()) {
  login_.user = user;
  login_.password = password;
}

RedfishSession::~RedfishSession() { log_out(); }

Result<std::unique_ptr<RedfishSession>> RedfishSession::open(const Endpoint& endpoint, const std::string& user,
                                                             const Secret& password, Clock& clock) {
  std::unique_ptr<RedfishSession> session(new RedfishSession(endpoint, user, password, clock));
  if (user.empty()) return session->error(ErrorCode::invalid_input, "no user name for the login");
  if (const Status root = session->read_root(); !root.ok()) return root.error();
  if (const Status login = session->log_in(); !login.ok()) return login.error();
  return session;
}

Error RedfishSession::error(ErrorCode code, std::string message) const {
  return Error{code, std::move(message), endpoint_.device};
}

void RedfishSession::look_again(const std::string& manufacturer, const std::string& firmware) {
  if (!manufacturer.empty()) look_.manufacturer = manufacturer;
  if (!firmware.empty()) look_.firmware = firmware;
  quirk_ = &quirk_for(look_);
}

Status RedfishSession::read_root() {
  HttpRequest request;
  request.path = kRoot;  // readable without a login (DSP0266, "Service root request")
  Result<HttpReply> reply = client_.request(request);
  if (!reply.ok()) return reply.error();
  if (reply->status == 401 || reply->status == 403) {
    // Some services require a login even here; use the standard paths.
    root_.sessions = kSessions;
    root_.systems = "/redfish/v1/Systems";
    root_.managers = "/redfish/v1/Managers";
    root_.chassis = "/redfish/v1/Chassis";
    root_.accounts = "/redfish/v1/AccountService";
    return {};
  }
  if (reply->status == 404) return error(ErrorCode::not_found, "has no Redfish service");
  Result<RedfishReply> root = reply_of(std::move(reply), true);
  if (!root.ok()) return root.error();
  root_ = parse_service_root(root->value);
  if (root_.sessions.empty()) root_.sessions = kSessions;
  look_ = {root_.vendor, root_.product, {}, {}, root_.oem};
  quirk_ = &quirk_for(look_);
  return {};
}

Result<HttpReply> RedfishSession::ask_for_session() {
  const std::string user = json_quote_secret(login_.user);
  const Secret password(json_quote_secret(login_.password.reveal()));
  for (const bool with_context : {true, false}) {
    const Secret body(fmt::format(R"({{"UserName":{},"Password":{}{}}})", user, password.reveal(),
                                  with_context ? fmt::format(R"(,"Context":"{}")", kSessionContext) : ""));
    HttpRequest request;
    request.method = "POST";
    request.path = root_.sessions;
    request.body = body.reveal();
    Result<HttpReply> reply = client_.request(request);
    if (!reply.ok() || !with_context || reply->status != 400) return reply;
    // Context was added in Session 1.5; older services may reject unknown properties.
    const ReplyMessages messages = parse_messages(json_or_null(*reply));
    if (!messages.has("PropertyUnknown") && !messages.has("PropertyNotWritable")) return reply;
  }
  return error(ErrorCode::internal, "unreachable");
}

Status RedfishSession::take_session(const HttpReply& reply) {
  const Value value = json_or_null(reply);
  session_path_ = location_path(reply.location);
  if (session_path_.empty()) session_path_ = path_of(value, {"@odata.id"});
  if (reply.token.empty()) {
    if (endpoint_.login == LoginPolicy::session)
      return error(ErrorCode::refused, fmt::format("{}: it opened a session without a token", kNoSession));
    return use_basic();
  }
  login_.token = reply.token;
  change_account_ = parse_messages(value).change_account;
  return {};
}

Status RedfishSession::log_in() {
  const bool may_use_basic = endpoint_.login != LoginPolicy::session;
  if (endpoint_.login == LoginPolicy::basic || (quirk_->basic_only && may_use_basic)) return use_basic();
  for (const bool first : {true, false}) {
    Result<HttpReply> reply = ask_for_session();
    if (!reply.ok()) return reply.error();
    // 201 by DSP0266; DMTF's reference server says 204.
    if (reply->status >= 200 && reply->status < 300) return take_session(*reply);
    if (reply->status == 401) return error(ErrorCode::refused, std::string(kLoginRefused));
    if (reply->status == 404 || reply->status == 405 || reply->status == 501) {
      if (may_use_basic) return use_basic();
      return error(ErrorCode::refused, fmt::format("{}: HTTP status {}", kNoSession, reply->status));
    }
    if (!is_session_limit(*reply)) {
      Error refusal = error_of(*reply);
      // No session until the password is changed; the change itself uses HTTP Basic.
      if (!change_account_.empty() && may_use_basic) return {};
      return refusal;
    }
    if (may_use_basic) {
      if (first && remove_stale_session()) continue;
      if (use_basic().ok()) return {};
    }
    return error(ErrorCode::conflict, fmt::format("{}: {}", kSessionLimit, error_of(*reply).message));
  }
  return error(ErrorCode::internal, "unreachable");
}

bool RedfishSession::is_session_limit(const HttpReply& reply) const {
  if (reply.status != 400 && reply.status != 409 && reply.status != 429 && reply.status != 503) return false;
  const ReplyMessages messages = parse_messages(json_or_null(reply));
  // Base registry (DSP8011).
  if (messages.has("SessionLimitExceeded") || messages.has("CreateLimitReachedForResource")) return true;
  return std::any_of(quirk_->session_limit.begin(), quirk_->session_limit.end(),
                     [&](const std::string& id) { return messages.has(id); });
}

// The oldest session that a crashed weft command left behind. Sessions of other clients are never touched.
bool RedfishSession::remove_stale_session() {
  const HttpLogin basic = copy_basic(login_);
  HttpRequest request;
  request.path = root_.sessions;
  request.login = &basic;
  const Result<HttpReply> reply = client_.request(request);
  if (!reply.ok() || reply->status != 200) return false;
  const Value value = json_or_null(*reply);
  std::vector<std::string> paths = parse_collection(value).members;
  if (paths.size() > kMaxSessionsRead) paths.resize(kMaxSessionsRead);
  std::optional<SessionInfo> oldest;
  for (const Result<HttpReply>& one : client_.get_many(paths, &basic)) {
    if (!one.ok() || one->status != 200) continue;
    SessionInfo session = parse_session(json_or_null(*one));
    if (session.path.empty() || session.user != login_.user || session.context != kSessionContext) continue;
    // ISO 8601 in one time zone sorts as text; without times, the first in the list is the oldest.
    if (!oldest || session.created < oldest->created) oldest = std::move(session);
  }
  if (!oldest) return false;
  request.method = "DELETE";
  request.path = oldest->path;
  const Result<HttpReply> removed = client_.request(request);
  return removed.ok() && removed->status >= 200 && removed->status < 300;
}

Status RedfishSession::use_basic() {
  log_out();
  login_.token = Secret();
  // Basic has no login; whether it is accepted shows at the first resource that requires authentication.
  HttpRequest request;
  request.path = root_.sessions;
  request.login = &login_;
  for (const std::string& path : {root_.sessions, root_.systems}) {
    if (path.empty()) continue;
    request.path = path;
    const Result<HttpReply> reply = client_.request(request);
    if (!reply.ok()) return reply.error();
    if (reply->status == 401) return error(ErrorCode::refused, std::string(kLoginRefused));
    if (reply->status >= 200 && reply->status < 300) return {};
    if (reply->status != 403 && reply->status != 404 && reply->status != 405) return error_of(*reply);
  }
  return {};
}

void RedfishSession::log_out() {
  if (session_path_.empty()) return;
  HttpRequest request;
  request.method = "DELETE";
  request.path = std::exchange(session_path_, {});
  request.login = &login_;
  request.farewell = true;
  // A failure is ignored: the BMC drops the session when it times out.
  (void)client_.request(request);
}

// Handles a 401 in mid-session. The old session is deleted first: what looked like an expired session may be a missing
// privilege, and then the session would leak.
bool RedfishSession::log_in_again() {
  if (login_.token.empty() || clock_.stopped()) return false;
  log_out();
  login_.token = Secret();
  return log_in().ok();
}

std::string RedfishSession::speakable(std::string text) const {
  const auto strike = [&](const Secret& secret) {
    if (secret.empty()) return;
    for (std::size_t at = 0; (at = text.find(secret.reveal(), at)) != std::string::npos; at += 3) {
      text.replace(at, secret.reveal().size(), "***");
    }
  };
  strike(login_.token);
  strike(login_.password);
  for (const Secret& secret : unspeakable_) strike(secret);
  return printable(text, kMaxMessageChars);
}

Error RedfishSession::error_of(const HttpReply& reply) {
  const ReplyMessages messages = parse_messages(json_or_null(reply));
  if (messages.has("PasswordChangeRequired")) {
    if (!messages.change_account.empty()) change_account_ = messages.change_account;
    return error(ErrorCode::refused, fmt::format("{} before anything else is allowed", kPasswordExpired));
  }
  // Base registry (DSP8011): the service does not support the action, or not with this value.
  const bool lacks =
      reply.status == 400 && (messages.has("ActionNotSupported") || messages.has("ActionParameterNotSupported") ||
                              messages.has("ActionParameterValueNotInList") || messages.has("PropertyValueNotInList"));
  const std::string text = speakable(messages.text);
  return error(lacks ? ErrorCode::not_found : code_of(reply.status),
               text.empty() ? fmt::format("HTTP {}", reply.status) : fmt::format("HTTP {}: {}", reply.status, text));
}

Result<HttpReply> RedfishSession::send(HttpRequest request) {
  if (!is_trusted_path(request.path)) {
    return error(ErrorCode::invalid_input, "refers to an invalid path: " + in_backticks(request.path));
  }
  request.login = &login_;
  Result<HttpReply> reply = client_.request(request);
  // A request rejected with 401 was not executed, so even a POST can be retried.
  if (reply.ok() && reply->status == 401 && log_in_again()) reply = client_.request(request);
  return reply;
}

Result<RedfishReply> RedfishSession::reply_of(Result<HttpReply> reply, bool must_be_object) {
  if (!reply.ok()) return reply.error();
  if (reply->status < 200 || reply->status > 299) return error_of(*reply);
  RedfishReply out;
  out.status = reply->status;
  out.location = location_path(reply->location);
  out.retry_after = reply->retry_after;
  Result<Value> value = reply->body.empty() ? Result<Value>(Value()) : read_json_reply(reply->body);
  if (must_be_object && !value.ok()) {
    return error(ErrorCode::invalid_input, "sent an invalid response: " + value.error().message);
  }
  if (must_be_object && !value->is_map())
    return error(ErrorCode::invalid_input, "sent a response that is not a JSON object");
  if (value.ok()) out.value = std::move(value).value();
  out.etag = reply->etag.empty() ? raw_text(out.value, {"@odata.etag"}) : reply->etag;
  // It is sent back in a request header.
  if (!std::all_of(out.etag.begin(), out.etag.end(), [](char c) { return c >= ' ' && c <= '~'; })) out.etag.clear();
  if (out.etag.size() > kMaxTextBytes) out.etag.clear();
  return out;
}

Result<RedfishReply> RedfishSession::get(const std::string& path) {
  HttpRequest request;
  request.path = path;
  return reply_of(send(request), true);
}

Result<RedfishReply> RedfishSession::look(const std::string& path) {
  HttpRequest request;
  request.path = path;
  return reply_of(send(request), false);
}

std::vector<Result<Value>> RedfishSession::get_many(const std::vector<std::string>& paths) {
  std::vector<Result<HttpReply>> replies = client_.get_many(paths, &login_);
  const auto forgotten = [](const Result<HttpReply>& reply) { return reply.ok() && reply->status == 401; };
  if (std::any_of(replies.begin(), replies.end(), forgotten) && log_in_again()) {
    std::vector<std::string> again;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (!forgotten(replies[i])) continue;
      again.push_back(paths[i]);
      places.push_back(i);
    }
    std::vector<Result<HttpReply>> second = client_.get_many(again, &login_);
    for (std::size_t i = 0; i < places.size(); ++i) replies[places[i]] = std::move(second[i]);
  }
  std::vector<Result<Value>> out;
  out.reserve(replies.size());
  for (Result<HttpReply>& reply : replies) {
    Result<RedfishReply> read = reply_of(std::move(reply), true);
    if (read.ok()) {
      out.emplace_back(std::move(read->value));
    } else {
      out.emplace_back(read.error());
    }
  }
  return out;
}

Result<std::unique_ptr<HttpStream>> RedfishSession::open_stream(const std::string& path, const std::string& last_id) {
  if (!is_trusted_path(path))
    return error(ErrorCode::invalid_input, "refers to an invalid path: " + in_backticks(path));
  HttpRequest request;
  request.path = path;
  request.accept = "text/event-stream";
  request.last_event_id = last_id;
  request.login = &login_;
  Result<StreamReply> opened = client_.open_stream(request);
  if (opened.ok() && opened->reply.status == 401 && log_in_again()) opened = client_.open_stream(request);
  if (!opened.ok()) return opened.error();
  if (opened->stream != nullptr) return std::move(opened->stream);
  if (opened->reply.status < 200 || opened->reply.status > 299) return error_of(opened->reply);
  return error(ErrorCode::not_found, "the response is not a stream of events");
}

Result<RedfishReply> RedfishSession::post(const std::string& path, std::string_view body) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.body = body;
  return reply_of(send(request), false);
}

Result<RedfishReply> RedfishSession::upload(const std::string& path, const std::string& content_type,
                                            const std::vector<std::string_view>& parts, Duration limit) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.content_type = content_type;
  request.more = parts;
  request.limit = limit;
  return reply_of(send(request), false);
}

Result<RedfishReply> RedfishSession::patch(const std::string& path, std::string_view body, const std::string& etag) {
  HttpRequest request;
  request.method = "PATCH";
  request.path = path;
  request.body = body;
  request.if_match = etag;
  Result<HttpReply> reply = send(request);
  if (!reply.ok() || (reply->status != 412 && reply->status != 428)) return reply_of(std::move(reply), false);
  // RFC 6585: 428 requires an If-Match. RFC 9110: 412 means that ours did not match; if it was the current one, the
  // service contradicts itself (seen on XCC), and the retry sends none.
  const Result<RedfishReply> fresh = get(path);
  if (!fresh.ok()) return fresh.error();
  request.if_match = reply->status == 412 && fresh->etag == etag ? std::string() : fresh->etag;
  return reply_of(send(request), false);
}

}  // namespace weft::oob
