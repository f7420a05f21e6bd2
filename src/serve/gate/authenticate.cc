// Who a client is. The order: the Unix socket's kernel credentials; a token in the header Authorization; a session
// cookie; a client certificate. A request is refused if what it presents is not valid, even if it presents something
// else too.
#include <fmt/format.h>

#include <algorithm>

#include "access/policy/user_name.h"
#include "base/text.h"
#include "serve/gate/cookies.h"
#include "serve/gate/gate.h"

namespace weft::serve {
namespace {

constexpr std::string_view kBearer = "Bearer ";

bool is_safe(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

HttpResponse too_many(std::int64_t retry_after_s) {
  HttpResponse response = problem(429, fmt::format("too many requests: retry in {} s", retry_after_s));
  response.headers.emplace_back("Retry-After", std::to_string(retry_after_s));
  return response;
}

// 401, the same for every reason: what was wrong is in the audit log.
HttpResponse not_signed_in() {
  HttpResponse response = problem(401, "not signed in: run `weft login`, or send a token");
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"weft\"");
  return response;
}

std::string lower_host(std::string_view host) {
  // Without the port, and without the brackets of an IPv6 address.
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    host = host.substr(0, colon);
  }
  return to_lower(host);
}

}  // namespace

void Gate::identify(const HttpRequest& request, Identified callback) {
  if (request.is_local) return callback(identify_local(request));
  if (const std::optional<HttpResponse> limited = limit_source(request.address)) return callback(*limited);
  if (!request.authorization.empty()) {
    // RFC 9110, section 11.1: the scheme in upper or lower case.
    if (!equals_ignoring_case(std::string_view(request.authorization).substr(0, kBearer.size()), kBearer))
      return callback(refuse(request, "unknown scheme of Authorization"));
    const std::string_view token = std::string_view(request.authorization).substr(kBearer.size());
    if (token.starts_with("weft_")) return callback(identify_token(request, token));
    // Verifying a signature costs more than it costs to send one.
    if (const std::optional<HttpResponse> limited = limit_failures(request.address)) return callback(*limited);
    return identify_bearer(request, std::string(token), callback, true);
  }
  if (const std::string cookie = find_cookie(request.cookie, kSessionCookie); !cookie.empty())
    return callback(identify_session(request, cookie));
  if (request.certificate) {
    // A connection may outlive it.
    if (options_.now_ms() >= request.certificate->valid_until_ms)
      return callback(refuse(request, "the certificate has expired"));
    // A browser sends the certificate with requests of any page, as it does with a cookie.
    const bool is_browser = !request.origin.empty() || !request.fetch_site.empty();
    if (const std::optional<HttpResponse> refused = is_browser ? check_browser(request) : std::nullopt)
      return callback(*refused);
    Caller caller;
    caller.identity = {request.certificate->name, request.certificate->organizations, access::Method::certificate,
                       "sha256:" + request.certificate->fingerprint};
    caller.valid_until_ms = request.certificate->valid_until_ms;
    return callback(accept(request, std::move(caller)));
  }
  callback(not_signed_in());
}

// Of all requests of an address, with any credentials or none.
std::optional<HttpResponse> Gate::limit_source(const std::string& address) {
  const access::RateDecision decision = source_requests_->take(access::source_key(address), options_.now());
  if (decision.allowed) return std::nullopt;
  return too_many(decision.retry_after_s);
}

std::optional<HttpResponse> Gate::limit_failures(const std::string& address) {
  const access::RateDecision decision = failures_->check(address, options_.now());
  if (decision.allowed) return std::nullopt;
  return too_many(decision.retry_after_s);
}

// A credential that is not valid: 401, or 429 if the address has sent many of them. One that is valid is accepted
// before this is asked: another user of the address, or a page that makes its browsers send requests, cannot lock
// others out.
HttpResponse Gate::refuse(const HttpRequest& request, std::string_view why) {
  if (const std::optional<HttpResponse> limited = limit_failures(request.address)) return *limited;
  failures_->add_failure(request.address, options_.now());
  access::AuditNote entry;
  entry.source.address = request.address;
  entry.source.request_id = request.request_id;
  entry.operation = access::kSignInRefused;
  entry.reason = why;
  record_refusal(std::move(entry));
  return not_signed_in();
}

Gate::Outcome Gate::identify_local(const HttpRequest& request) {
  Caller caller;
  caller.identity = identify_peer(request.peer, policy_.from_file);
  caller.has_account = true;
  caller.uid = request.peer.uid;
  caller.gid = request.peer.gid;
  set_rights(caller);
  return caller;
}

Gate::Outcome Gate::identify_token(const HttpRequest& request, std::string_view token) {
  const std::int64_t now = options_.now_ms();
  const std::optional<access::ParsedToken> parsed = access::parse_token(token);
  // A refresh token or the value of a cookie is no bearer token.
  const bool is_access = parsed && parsed->kind == access::TokenKind::access;
  if (!is_access && !(parsed && parsed->kind == access::TokenKind::fixed)) return refuse(request, "not a token");
  const access::CredentialCheck check = is_access ? sessions_->find(token, now) : tokens_->find(token, now);
  if (!check.use) return refuse(request, fmt::format("{} token {}", to_text(check.refusal), check.credential));
  Caller caller;
  caller.identity = check.use->identity;
  caller.restriction = check.use->restriction;
  caller.valid_until_ms = check.use->expires_ms;
  if (check.use->created_by != caller.identity.user) caller.token_creator = check.use->created_by;
  return accept(request, std::move(caller));
}

Gate::Outcome Gate::identify_session(const HttpRequest& request, std::string_view cookie) {
  if (std::optional<HttpResponse> refused = check_browser(request)) return *refused;
  const std::int64_t now = options_.now_ms();
  const std::optional<access::ParsedToken> parsed = access::parse_token(cookie);
  if (!parsed || parsed->kind != access::TokenKind::session) return refuse(request, "not a session");
  const access::CredentialCheck check = sessions_->find(cookie, now);
  if (!check.use) return refuse(request, fmt::format("{} session {}", to_text(check.refusal), check.credential));
  if (!is_safe(request.method) && !access::is_csrf_token(cookie, request.csrf_token))
    return problem(403, "the header X-CSRF-Token is missing or wrong: GET /api/v1/session has it");
  Caller caller;
  caller.identity = check.use->identity;
  caller.valid_until_ms = check.use->expires_ms;
  return accept(request, std::move(caller));
}

// Requests that a browser sends with a cookie: only for pages of this server, and under its own names, so that neither
// another site nor a name that was pointed here (DNS rebinding) uses the session.
std::optional<HttpResponse> Gate::check_browser(const HttpRequest& request) const {
  if (!is_known_host(request.host)) return problem(403, "this server is not known under the name of the header Host");
  const bool from_here =
      request.fetch_site.empty() || request.fetch_site == "same-origin" || request.fetch_site == "none";
  if (!from_here) return problem(403, "requests of other sites are not accepted with a session");
  if (!request.origin.empty() && request.origin != "https://" + request.host)
    return problem(403, "the header Origin names another site");
  return std::nullopt;
}

bool Gate::is_known_host(std::string_view host) const {
  const std::string name = lower_host(host);
  const auto is_in = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return is_in(policy_.hosts) || is_in(options_.listen_hosts);
}

void Gate::identify_bearer(const HttpRequest& request, std::string token, const Identified& callback,
                           bool may_refresh) {
  if (oidc_ == nullptr) return callback(refuse(request, "a signed token, but there is no OIDC provider"));
  const std::int64_t now_s = options_.now_ms() / 1000;
  const access::BearerAnswer answer = oidc_->verify(token, now_s);
  if (answer.kind == access::BearerAnswer::Kind::needs_keys && may_refresh) {
    // `request` outlives the callback: the API keeps it until then.
    const bool started = run_aside([this, &request, token = std::move(token), callback, now_s] {
      const Status refreshed = oidc_->refresh(now_s);
      (void)refreshed;  // verify() says what is missing
      return [this, &request, token, callback] { identify_bearer(request, token, callback, false); };
    });
    if (!started) callback(problem(503, "the OIDC provider does not answer: retry later"));
    return;
  }
  if (answer.kind != access::BearerAnswer::Kind::verified) {
    if (answer.error.code == ErrorCode::unavailable)
      return callback(problem(503, "the keys of the OIDC provider cannot be had: retry later"));
    return callback(refuse(request, "bearer token: " + answer.error.message));
  }
  Result<access::Identity> identity = identity_of(answer.claims, access::Method::bearer);
  if (!identity.ok()) return callback(refuse(request, "bearer token: " + identity.error().message));
  Caller caller;
  caller.identity = std::move(*identity);
  caller.valid_until_ms = (answer.claims.expires_s + oidc_->settings().clock_skew_s) * 1000;
  callback(accept(request, std::move(caller)));
}

Result<access::Identity> Gate::identity_of(const access::Claims& claims, access::Method method) const {
  if (Status named = access::check_user_name(claims.user, policy_.server_user); !named.ok()) return named.error();
  access::Identity identity{claims.user, {}, method, {}};
  for (const std::string& group : claims.groups) {
    if (access::check_group_name(group).ok()) identity.groups.push_back(group);
  }
  identity.credential = "oidc:" + (claims.token_id.empty() ? claims.subject : claims.token_id);
  return identity;
}

Gate::Outcome Gate::accept(const HttpRequest& request, Caller caller) {
  if (const Status named = policy_.check_identity(caller.identity); !named.ok())
    return refuse(request, named.error().message);
  const access::RateDecision decision = requests_->take(caller.identity.user, options_.now());
  if (!decision.allowed) return too_many(decision.retry_after_s);
  caller.address = request.address;
  set_rights(caller);
  return caller;
}

void Gate::set_rights(Caller& caller) const {
  caller.access = policy_.access_of(caller.identity);
  if (caller.restriction.has_any()) caller.access = access::restrict_access(caller.access, caller.restriction);
}

void Gate::set_account(Caller& caller) const {
  if (caller.has_account) return;
  const Result<access::UnixAccount> account = policy_.account_of(caller.identity.user, access::system_accounts());
  caller.has_account = account.ok();
  if (!account.ok()) return;
  caller.uid = account->uid;
  caller.gid = account->gid;
}

bool Gate::is_still_valid(Caller& caller) {
  const std::int64_t now = options_.now_ms();
  const std::string& credential = caller.identity.credential;
  switch (caller.identity.method) {
    case access::Method::unix_socket:
      break;
    case access::Method::token:
      if (!tokens_->is_valid(credential, now)) return false;
      break;
    case access::Method::certificate:
    case access::Method::bearer:
      if (now >= caller.valid_until_ms) return false;
      break;
    case access::Method::browser:
    case access::Method::cli:
      if (!sessions_->is_valid(credential, now)) return false;
      break;
  }
  set_rights(caller);
  return caller.access.has_any_role();
}

}  // namespace weft::serve
