#include "cli/operate/api_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/operate/login_protocol.h"
#include "cli/operate/server_trust.h"
#include "http/fingerprint.h"
#include "serve/table/route.h"

namespace weft::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxShown = 8000;  // bytes of a problem's text
constexpr std::size_t kMaxErrors = 50;   // entries of `errors` that are shown
constexpr std::int64_t kMaxPause = 120;  // seconds of Retry-After that a command waits
constexpr int kUnauthorized = 401;
constexpr int kTooManyRequests = 429;

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Line by line: a detail may be several rendered diagnostics, with a caret below the column.
std::string printable_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : split_lines(text)) out.append(out.empty() ? "" : "\n").append(printable(line));
  if (out.size() > kMaxShown) {
    out.resize(kMaxShown);
    out = printable_lines(out.substr(0, out.rfind('\n'))) + "\n...";
  }
  return out;
}

std::string place_of(const json& entry) {
  if (std::string source = text_in(entry, "source"); !source.empty()) {
    for (const char* part : {"line", "column"}) {
      const auto number = entry.find(part);
      if (number == entry.end() || !number->is_number_unsigned()) break;
      source += fmt::format(":{}", number->get<std::uint64_t>());
    }
    return source;
  }
  for (const char* name : {"parameter", "header"}) {
    if (std::string given = text_in(entry, name); !given.empty()) return given;
  }
  // A JSON pointer (RFC 6901) into the body.
  std::string pointer = text_in(entry, "pointer");
  if (pointer.starts_with('/')) pointer.erase(0, 1);
  return replace_all(replace_all(std::move(pointer), "~1", "/"), "~0", "~");
}

struct ProblemEntry {
  std::string place;
  std::string detail;  // as the server sent it
};

std::vector<ProblemEntry> entries_of(const json& problem) {
  std::vector<ProblemEntry> entries;
  const auto errors = problem.find("errors");
  if (errors == problem.end() || !errors->is_array()) return entries;
  for (const json& entry : *errors) {
    if (entry.is_object()) entries.push_back({printable(place_of(entry), 300), text_in(entry, "detail")});
  }
  return entries;
}

// The detail often is all entries without their places, or a rendered job file with them: each is shown once.
std::string text_of_problem(const std::string& detail, const std::vector<ProblemEntry>& entries) {
  std::vector<std::string> details;
  details.reserve(entries.size());
  for (const ProblemEntry& entry : entries) details.push_back(entry.detail);
  const bool is_list = !entries.empty() && (detail.empty() || detail == join(details, "; "));
  const auto with_place = [](const ProblemEntry& entry, const std::string& text) {
    return entry.place + (entry.place.empty() ? "" : ": ") + text;
  };
  if (is_list && entries.size() == 1) return with_place(entries.front(), printable_lines(details.front()));
  std::string text = is_list ? "invalid request" : printable_lines(detail);
  std::size_t shown = 0;
  for (const ProblemEntry& entry : entries) {
    if (!is_list && contains(detail, entry.detail) && contains(detail, entry.place)) continue;
    if (shown++ == kMaxErrors) {
      text += fmt::format("\n  and {} more", entries.size() - kMaxErrors);
      break;
    }
    text += "\n  " + with_place(entry, printable(entry.detail, 1000));
  }
  return text;
}

}  // namespace

std::string problem_text(const serve::HttpResponse& response) {
  if (response.content_type.starts_with("application/problem+json")) {
    const json problem = json::parse(response.body, nullptr, false);
    if (problem.is_object()) {
      const std::vector<ProblemEntry> entries = entries_of(problem);
      std::string text = text_in(problem, "detail");
      if (text.empty() && entries.empty()) text = text_in(problem, "title");
      if (!text.empty() || !entries.empty()) return text_of_problem(text, entries);
    }
  }
  return fmt::format("the server answered {} {}", response.status, serve::status_phrase(response.status));
}

std::int64_t retry_after_seconds(const serve::HttpResponse& response) {
  const std::string* text = response.find_header("retry-after");
  std::int64_t seconds = 0;
  if (text == nullptr) return 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  return problem == std::errc() && end == text->data() + text->size() && seconds > 0 ? seconds : 0;
}

Result<serve::Endpoint> address_of(const ServerEndpoint& endpoint, const oob::Secret& token) {
  if (!endpoint.is_remote()) return serve::Endpoint::unix_socket(endpoint.socket);
  Result<serve::Endpoint> address = serve::Endpoint::from_url(endpoint.url);
  if (!address.ok()) return address;
  address->trust.ca_file = endpoint.ca;
  address->trust.fingerprint = http::parse_fingerprint(endpoint.fingerprint);
  address->token = token.reveal();
  return address;
}

ApiConnection::ApiConnection(ServerEndpoint endpoint, LoginStore logins, oob::Clock& clock,
                             std::function<void(const std::string&)> note, ApiTransport transport)
    : endpoint_(std::move(endpoint)),
      logins_(std::move(logins)),
      clock_(clock),
      note_(std::move(note)),
      transport_(std::move(transport)) {}

Error ApiConnection::not_signed_in() const {
  if (!endpoint_.token.empty())
    return {ErrorCode::refused, "the server does not accept the token in WEFT_TOKEN", endpoint_.name()};
  const std::string how = endpoint_.context.empty() ? endpoint_.url : "--context " + endpoint_.context;
  return {ErrorCode::refused, fmt::format("not signed in: run `weft login {}`", how), endpoint_.name()};
}

Result<oob::Secret> ApiConnection::token(const oob::Secret& rejected) const {
  if (!endpoint_.is_remote()) return oob::Secret();
  if (!endpoint_.token.empty()) return endpoint_.token;
  if (endpoint_.context.empty()) return oob::Secret();
  const RefreshFunction refresh = [&](const oob::Secret& refresh_token) {
    return refresh_login([&](serve::ClientRequest request) { return send_without_token(std::move(request)); },
                         refresh_token, clock_.wall_ms());
  };
  Result<oob::Secret> found =
      fresh_access_token(logins_, endpoint_.context, endpoint_.url, rejected, clock_.wall_ms(), refresh);
  if (!found.ok() && found.error().code == ErrorCode::not_found) {
    // A client certificate or a page without sign-in may do: the server decides.
    return rejected.empty() ? Result<oob::Secret>(oob::Secret()) : not_signed_in();
  }
  return found;
}

Error ApiConnection::explain(Error error) const {
  if (const std::optional<ServerTrust> untrusted = find_untrusted(error)) return untrusted_error(endpoint_, *untrusted);
  if (error.where.empty() && !contains(error.message, endpoint_.name())) error.where = endpoint_.name();
  return error;
}

Result<serve::HttpResponse> ApiConnection::send_without_token(serve::ClientRequest request) const {
  return send_with(std::move(request), {});
}

Result<serve::HttpResponse> ApiConnection::send_with(serve::ClientRequest request, const oob::Secret& token) const {
  Result<serve::Endpoint> address = address_of(endpoint_, token);
  if (!address.ok()) return address.error();
  request.endpoint = std::move(*address);
  Result<serve::HttpResponse> response = transport_.send(request);
  if (!response.ok()) return explain(response.error());
  return response;
}

Result<serve::HttpResponse> ApiConnection::send(const serve::ClientRequest& request) const {
  oob::Secret rejected;
  bool has_paused = false;
  for (;;) {
    const Result<oob::Secret> token = this->token(rejected);
    if (!token.ok()) return token.error();
    Result<serve::HttpResponse> response = send_with(request, *token);
    if (!response.ok()) return response;
    if (response->status == kUnauthorized && can_refresh() && rejected.empty() && !token->empty()) {
      rejected = *token;
      continue;
    }
    const std::int64_t pause = retry_after_seconds(*response);
    const bool may_wait = response->status == kTooManyRequests && request.method == "GET" && pause > 0 &&
                          pause <= kMaxPause && !has_paused;
    if (!may_wait) return response;
    has_paused = true;
    note_(fmt::format("{}: too many requests; waiting for {} s", endpoint_.name(), pause));
    if (!clock_.sleep(milliseconds(pause * 1000))) return response;
  }
}

Result<serve::StreamEnd> ApiConnection::follow(serve::FollowRequest request,
                                               const serve::EventCallback& callback) const {
  for (bool has_retried = false;; has_retried = true) {
    const Result<oob::Secret> token = this->token({});
    if (!token.ok()) return token.error();
    Result<serve::Endpoint> address = address_of(endpoint_, *token);
    if (!address.ok()) return address.error();
    request.endpoint = std::move(*address);
    Result<serve::StreamEnd> end = transport_.follow(request, callback);
    if (end.ok()) return end;
    if (end.error().code != ErrorCode::refused || has_retried || !endpoint_.is_remote()) return explain(end.error());
    // The token may have been revoked: this refreshes it, or says that the caller is not signed in.
    serve::ClientRequest who;
    who.target = std::string(serve::kApiPrefix) + "/session";
    const Result<serve::HttpResponse> session = send(who);
    if (!session.ok()) return session.error();
    if (session->status >= 400) return error_of(*session);
  }
}

Error ApiConnection::error_of(const serve::HttpResponse& response) const {
  Error error = serve::problem_to_error(response);
  error.message = problem_text(response);
  switch (response.status) {
    case kUnauthorized:
      if (endpoint_.is_remote()) return not_signed_in();
      break;
    case 412:
      error.message += "; it has changed since it was read: read it again, then repeat the command";
      break;
    case kTooManyRequests:
      if (const std::int64_t pause = retry_after_seconds(response); pause > 0)
        error.message += fmt::format("; retry in {} s", pause);
      break;
    default:
      break;
  }
  return error;
}

}  // namespace weft::cli
