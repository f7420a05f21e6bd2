// Signing in with the OIDC provider: browsers by the authorization code flow, the CLI by the device flow, of which the
// server is the client. A browser comes back from the provider by a redirect that began at another site, and would not
// send a cookie with SameSite=Strict along: the answer is therefore a page that goes on by itself.
#include <fmt/format.h>

#include <tuple>

#include "access/oidc/provider.h"
#include "base/text.h"
#include "base/value.h"
#include "serve/api/docs_page.h"
#include "serve/api/parameters.h"
#include "serve/gate/cookies.h"
#include "serve/gate/gate.h"
#include "serve/gate/page_response.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxLoginBody = 4096;  // of clients that have not signed in
constexpr std::int64_t kLoginCookieSeconds = access::kBrowserLoginMs / 1000;

// A request of `weft login`, with one text in its body.
RouteRow login_row(std::string_view id, std::vector<Field> body) {
  RouteRow row;
  row.id = id;
  row.method = "POST";
  row.need = Need::anyone;
  row.body = std::move(body);
  return row;
}

HttpResponse json_response(const Value& value, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = write_json(value);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

// RFC 6749 section 5.2, RFC 8628 section 3.5.
HttpResponse oauth_error(std::string_view error) { return json_response(Value::map().set("error", error), 400); }

Value login_value(const access::CliLogin& login) {
  return Value::map()
      .set("access_token", login.access_token.reveal())
      .set("refresh_token", login.refresh_token.reveal())
      .set("token_type", "Bearer")
      .set("expires_in", login.expires_in_s)
      .set("user", login.user);
}

std::string query_of(const HttpRequest& request, std::string_view name) {
  const std::string* value = request.find_query(name);
  return value == nullptr ? std::string() : *value;
}

std::string redirect_uri(const HttpRequest& request) { return "https://" + request.host + "/login/callback"; }

// Nullopt after an error response.
std::optional<Parameters> read_login_body(const RouteRow& row, const HttpRequest& request, const Reply& reply) {
  if (!request.content_type.starts_with("application/json")) {
    reply.respond(problem(415, "the body must be application/json"));
    return std::nullopt;
  }
  if (request.body.size() > kMaxLoginBody) {
    reply.respond(problem(413, fmt::format("the body has more than {} bytes", kMaxLoginBody)));
    return std::nullopt;
  }
  std::vector<InputError> errors;
  Parameters parameters = read_parameters(row, request, errors);
  if (errors.empty()) return parameters;
  reply.respond(input_problem(errors));
  return std::nullopt;
}

}  // namespace

bool Gate::handle_page(const HttpRequest& request, const Responder& responder) {
  const Reply reply(responder, request.request_id);
  if (const std::optional<HttpResponse> limited = request.is_local ? std::nullopt : limit_source(request.address)) {
    reply.respond(*limited);
    return true;
  }
  if (request.path == "/healthz" && request.method == "GET") {
    const Health health = health_ ? health_() : Health{{}, "ok"};
    const std::string problem_text = audit_->problem().empty() ? health.problem : "the audit log cannot be written";
    HttpResponse response;
    response.status = problem_text.empty() ? 200 : 503;
    response.content_type = "text/plain; charset=utf-8";
    response.body = (problem_text.empty() ? health.text : problem_text) + "\n";
    reply.respond(response);
    return true;
  }
  if (request.method == "GET" && show_page(request, reply)) return true;
  using Handler = void (Gate::*)(const HttpRequest&, const Reply&);
  static constexpr std::tuple<std::string_view, std::string_view, Handler> kPages[] = {
      {"GET", "/login", &Gate::start_login},
      {"GET", "/login/callback", &Gate::finish_login},
      {"POST", "/login/device", &Gate::start_device},
      {"POST", "/login/device/token", &Gate::poll_device},
      {"POST", "/login/refresh", &Gate::refresh_login}};
  for (const auto& [method, path, handler] : kPages) {
    if (path != request.path || method != request.method) continue;
    if (request.is_local) {
      reply.respond(problem(409, "over the Unix socket no sign-in is needed: the kernel says who you are"));
    } else if (oidc_ == nullptr && path != "/login/refresh") {
      reply.respond(problem(501, "this server has no OIDC provider: use a token"));
    } else {
      (this->*handler)(request, reply);
    }
    return true;
  }
  return false;
}

void Gate::start_login(const HttpRequest& request, const Reply& reply) {
  if (!is_known_host(request.host))
    return reply.respond(problem(403, "this server is not known under the name of the header Host"));
  const std::int64_t now = options_.now_ms();
  if (!browser_logins_.has_room(request.address, now))
    return reply.respond(problem(429, "too many sign-ins of this address have begun: retry later"));
  const bool started = run_aside([this, reply, now, path = query_of(request, "return"), address = request.address,
                                  redirect = redirect_uri(request)] {
    const auto login = std::make_shared<Result<access::PendingLogin>>(oidc_->make_login(redirect, path, now / 1000));
    return [this, reply, login, address, now] {
      if (!login->ok()) {
        options_.log("the OIDC provider: " + login->error().text());
        return reply.respond(problem(503, "the OIDC provider does not answer: retry later"));
      }
      const std::string cookie = access::make_secret_text(options_.random);
      const std::string url = (*login)->url;
      const access::SecretHash key{oob::Secret((*login)->state)};
      if (!browser_logins_.add(key, {std::move(**login), access::SecretHash(oob::Secret(cookie))}, address,
                               now + access::kBrowserLoginMs, now)) {
        return reply.respond(problem(429, "too many sign-ins of this address have begun: retry later"));
      }
      HttpResponse response;
      response.status = 303;
      response.content_type = "text/plain; charset=utf-8";
      response.headers.emplace_back("Location", url);
      response.headers.emplace_back("Set-Cookie", set_cookie(kLoginCookie, cookie, SameSite::lax, kLoginCookieSeconds));
      reply.respond(response);
    };
  });
  if (!started) reply.respond(problem(503, "too many sign-ins at once: retry later"));
}

// The sign-in of the state in the redirect, for the browser that began it; works once. With another cookie it stays for
// the right browser.
std::optional<access::PendingLogin> Gate::take_login(const std::string& state, const std::string& cookie) {
  const access::SecretHash key{oob::Secret(state)};
  PendingBrowser* pending = browser_logins_.find(key, options_.now_ms());
  if (pending == nullptr || !pending->cookie.matches(access::SecretHash(oob::Secret(cookie)))) return std::nullopt;
  access::PendingLogin login = std::move(pending->login);
  browser_logins_.erase(key);
  return login;
}

void Gate::finish_login(const HttpRequest& request, const Reply& reply) {
  const access::LoginResponse answer{query_of(request, "code"), query_of(request, "state"), query_of(request, "iss"),
                                     query_of(request, "error")};
  const access::AuditSource source{{}, request.address, request.request_id};
  const std::string cookie = find_cookie(request.cookie, kLoginCookie);
  const std::optional<access::PendingLogin> login = take_login(answer.state, cookie);
  if (!login) {
    // Without the cookie no sign-in has begun in this browser: any page can send it here, again and again.
    if (!cookie.empty()) (void)refuse(request, "login: unknown or used state, or the cookie of another browser");
    HttpResponse response =
        page_response(login_failed_page("This sign-in is not known here, or was used before. Start again at /login."));
    response.status = 400;
    return reply.respond(response);
  }
  const std::int64_t now = options_.now_ms();
  const bool started = run_aside([this, reply, login = *login, answer, source, now] {
    const auto claims = std::make_shared<Result<access::Claims>>(oidc_->finish_login(login, answer, now / 1000));
    return [this, reply, claims, source, path = login.return_path] { end_browser_login(reply, *claims, source, path); };
  });
  if (!started) reply.respond(problem(503, "too many sign-ins at once: retry later"));
}

void Gate::end_browser_login(const Reply& reply, const Result<access::Claims>& claims,
                             const access::AuditSource& source, const std::string& path) {
  Result<access::Identity> identity =
      claims.ok() ? identity_of(*claims, access::Method::browser) : Result<access::Identity>(claims.error());
  if (!identity.ok()) {
    failures_->add_failure(source.address, options_.now());
    note(source, access::kSignInRefused, "browser", identity.error().message);
    HttpResponse response =
        page_response(login_failed_page("The sign-in was refused. The audit log of the server says why."));
    response.status = 403;
    return reply.respond(response);
  }
  const Result<access::BrowserSession> session =
      sessions_->begin_browser(identity->user, identity->groups, options_.now_ms());
  if (!session.ok()) return reply.respond(problem(503, session.error().message));
  identity->credential = session->credential;
  HttpResponse response = page_response(login_done_page(path));
  response.headers.emplace_back("Set-Cookie", set_cookie(kLoginCookie, "", SameSite::lax, 0));
  response.headers.emplace_back("Set-Cookie", set_cookie(kSessionCookie, session->cookie.reveal(), SameSite::strict,
                                                         policy_.sessions.longest.count() / 1'000'000'000));
  note_sign_in(*identity, source, "browser", reply, std::move(response));
}

// Who could not be recorded has not signed in.
void Gate::note_sign_in(const access::Identity& identity, const access::AuditSource& source, std::string_view how,
                        const Reply& reply, HttpResponse response) {
  access::AuditNote entry;
  entry.source = {identity, source.address, source.request_id};
  entry.operation = access::kSignIn;
  entry.object = how;
  note_first(
      std::move(entry), reply, [reply, response = std::move(response)] { reply.respond(response); },
      [this, credential = identity.credential] { (void)sessions_->end(credential); });
}

void Gate::start_device(const HttpRequest& request, const Reply& reply) {
  if (!read_login_body(login_row("login.device", {}), request, reply)) return;
  const std::int64_t now = options_.now_ms();
  if (!device_logins_.has_room(request.address, now))
    return reply.respond(problem(429, "too many sign-ins of this address have begun: retry later"));
  const bool started = run_aside([this, reply, now, address = request.address] {
    const auto login = std::make_shared<Result<access::DeviceLogin>>(oidc_->start_device_login(now / 1000));
    return [this, reply, login, now, address] {
      if (!login->ok()) {
        options_.log("the OIDC provider: " + login->error().text());
        return reply.respond(problem(503, "the OIDC provider does not answer: retry later"));
      }
      const access::DeviceLogin& given = **login;
      const Result<oob::Secret> handle =
          device_logins_.begin(given.device_code, given.interval_s, given.expires_in_s, address, now);
      if (!handle.ok()) return reply.respond(problem(429, handle.error().message));
      Value answer = Value::map();
      answer.set("user_code", given.user_code).set("verification_uri", given.verification_uri);
      if (!given.verification_uri_complete.empty())
        answer.set("verification_uri_complete", given.verification_uri_complete);
      answer.set("interval", given.interval_s).set("expires_in", given.expires_in_s).set("handle", handle->reveal());
      reply.respond(json_response(answer));
    };
  });
  if (!started) reply.respond(problem(503, "too many sign-ins at once: retry later"));
}

void Gate::poll_device(const HttpRequest& request, const Reply& reply) {
  const std::optional<Parameters> body = read_login_body(
      login_row("login.poll", {{"handle", FieldType::text, "handle of the login", true, 200}}), request, reply);
  if (!body) return;
  const std::string handle = body->text("handle");
  const std::int64_t now = options_.now_ms();
  const access::DevicePoll poll = device_logins_.poll(handle, now);
  if (poll.kind == access::DevicePoll::Kind::unknown) return reply.respond(oauth_error("expired_token"));
  if (poll.kind == access::DevicePoll::Kind::too_soon) return reply.respond(oauth_error("slow_down"));
  const access::AuditSource source{{}, request.address, request.request_id};
  const bool started = run_aside([this, reply, code = poll.device_code, handle, source, now] {
    const auto answer = std::make_shared<Result<access::ProviderPoll>>(oidc_->poll_device_login(code, now / 1000));
    return [this, reply, answer, handle, source] { end_device_poll(reply, *answer, handle, source); };
  });
  if (!started) reply.respond(problem(503, "too many sign-ins at once: retry later"));
}

void Gate::end_device_poll(const Reply& reply, const Result<access::ProviderPoll>& answer, const std::string& handle,
                           const access::AuditSource& source) {
  using Kind = access::ProviderPoll::Kind;
  const std::int64_t now = options_.now_ms();
  if (!answer.ok()) {
    if (answer.error().code == ErrorCode::unavailable || answer.error().code == ErrorCode::timeout)
      return reply.respond(oauth_error("authorization_pending"));
    (void)device_logins_.finish(handle);
    note(source, access::kSignInRefused, "device", answer.error().message);
    return reply.respond(oauth_error("access_denied"));
  }
  if (answer->kind == Kind::pending) return reply.respond(oauth_error("authorization_pending"));
  if (answer->kind == Kind::slow_down) {
    device_logins_.slow_down(handle, now);
    return reply.respond(oauth_error("slow_down"));
  }
  const bool is_first = device_logins_.finish(handle);
  if (answer->kind == Kind::expired || !is_first) return reply.respond(oauth_error("expired_token"));
  Result<access::Identity> identity = answer->kind == Kind::denied ? Error{ErrorCode::refused, "the person refused", {}}
                                                                   : identity_of(answer->claims, access::Method::cli);
  if (!identity.ok()) {
    note(source, access::kSignInRefused, "device", identity.error().message);
    return reply.respond(oauth_error("access_denied"));
  }
  const Result<access::CliLogin> login = sessions_->begin_cli(identity->user, identity->groups, now);
  if (!login.ok()) return reply.respond(problem(503, login.error().message));
  identity->credential = login->credential;
  note_sign_in(*identity, source, "device", reply, json_response(login_value(*login)));
}

void Gate::refresh_login(const HttpRequest& request, const Reply& reply) {
  const std::optional<Parameters> body = read_login_body(
      login_row("login.refresh", {{"refresh_token", FieldType::text, "refresh token", true, 200}}), request, reply);
  if (!body) return;
  const Result<access::RefreshAnswer> answer = sessions_->refresh(body->text("refresh_token"), options_.now_ms());
  if (!answer.ok()) return reply.respond(problem(503, answer.error().message));
  access::AuditSource source{{}, request.address, request.request_id};
  source.identity.user = answer->user;
  source.identity.credential = answer->credential;
  if (answer->login) {
    if (answer->repeated) {
      note(source, access::kRefreshRepeat, answer->credential,
           "a refresh token was exchanged again: the earlier answer had not been used");
    }
    return reply.respond(json_response(login_value(*answer->login)));
  }
  if (answer->reused) {
    note(source, access::kRefreshReuse, answer->credential, "a refresh token was used twice: the login has ended");
  } else {
    (void)refuse(request, "refresh token: " + std::string(to_text(answer->refusal)));
  }
  reply.respond(oauth_error("invalid_grant"));
}

}  // namespace weft::serve
