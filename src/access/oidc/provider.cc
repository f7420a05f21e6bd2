#include "access/oidc/provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "base/utf8.h"
#include "lazy/crypto.h"

namespace weft::access {
namespace {

constexpr std::size_t kSecretBytes = 32;  // of state, nonce and verifier
constexpr std::size_t kMaxReturnPathBytes = 2048;
constexpr std::size_t kMaxCodeBytes = 4096;
constexpr std::string_view kDeviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

Error refuse(std::string message) { return Error{ErrorCode::refused, std::move(message), {}}; }

bool equals_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// code_challenge of method S256 (RFC 7636, section 4.2).
std::string challenge_of(std::string_view verifier) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(verifier.data()), verifier.size(), digest.data());
  return encode_base64url({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// RFC 8414, section 3 and OpenID Connect Discovery 1.0, section 4.
std::string discovery_url(std::string_view issuer) {
  if (issuer.ends_with('/')) issuer.remove_suffix(1);
  return std::string(issuer) + "/.well-known/openid-configuration";
}

}  // namespace

std::string safe_return_path(std::string_view path) {
  // Browsers read "//host" and "/\host" as another host, and drop tabs and line ends.
  const bool is_local = path.starts_with('/') && !path.starts_with("//") && path.size() <= kMaxReturnPathBytes &&
                        std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c <= '~' && c != '\\'; });
  return is_local ? std::string(path) : "/";
}

OidcProvider::OidcProvider(OidcSettings settings, HttpFetch& fetch, RandomBytes random_bytes)
    : settings_(std::move(settings)), fetch_(fetch), random_bytes_(std::move(random_bytes)) {}

OidcProvider::State OidcProvider::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

// A clock that was set back must not stop refreshes.
bool OidcProvider::may_refresh(const State& state, std::int64_t now_s) {
  return !state.tried_s || now_s < *state.tried_s || now_s - *state.tried_s >= kRefreshInterval;
}

// A clock that was set back must not keep keys alive either.
std::shared_ptr<const KeySet> OidcProvider::usable_keys(const State& state, std::int64_t now_s) {
  return std::abs(now_s - state.fetched_s) <= kMaxKeyAge ? state.keys : nullptr;
}

TokenRules OidcProvider::rules(JwtKind kind) const {
  TokenRules rules;
  rules.kind = kind;
  rules.algorithms = settings_.algorithms;
  rules.issuer = settings_.issuer;
  rules.user_claim = settings_.user_claim;
  rules.groups_claim = settings_.groups_claim;
  rules.clock_skew_s = settings_.clock_skew_s;
  rules.audience = settings_.client_id;
  rules.authorized_parties = {settings_.client_id};
  if (kind == JwtKind::id_token) return rules;
  if (!settings_.audience.empty()) rules.audience = settings_.audience;
  rules.authorized_parties.push_back(rules.audience);
  rules.authorized_parties.insert(rules.authorized_parties.end(), settings_.authorized_parties.begin(),
                                  settings_.authorized_parties.end());
  return rules;
}

BearerAnswer OidcProvider::verify(std::string_view token, std::int64_t now_s) const {
  const State state = this->state();
  const bool may_ask = may_refresh(state, now_s);
  const KeySet none;
  const std::shared_ptr<const KeySet> keys = usable_keys(state, now_s);
  Result<Claims> claims = verify_token(token, keys != nullptr ? *keys : none, rules(JwtKind::access_token), now_s);
  BearerAnswer answer;
  // Only tokens that pass every check before the signature may cause a refresh.
  const bool lacks_key = !claims.ok() && claims.error().code == ErrorCode::not_found;
  if (lacks_key && may_ask) {
    answer.kind = BearerAnswer::Kind::needs_keys;
  } else if (claims.ok()) {
    answer.kind = BearerAnswer::Kind::verified;
    answer.claims = std::move(claims).value();
  } else if (lacks_key && keys == nullptr) {
    answer.error = Error{ErrorCode::unavailable, "there are no keys of the provider", settings_.issuer};
    if (state.problem) answer.error.message += ": " + state.problem->text();
  } else {
    answer.error = claims.error();
    if (lacks_key) answer.error.code = ErrorCode::refused;
  }
  return answer;
}

bool OidcProvider::needs_refresh(std::int64_t now_s) const {
  const State state = this->state();
  const bool is_old = state.keys == nullptr || now_s < state.fetched_s || now_s - state.fetched_s >= kRefreshAge;
  return is_old && !state.is_asking && may_refresh(state, now_s);
}

std::vector<std::string> OidcProvider::unusable_keys() const {
  const State state = this->state();
  std::vector<std::string> out;
  if (state.keys == nullptr) return out;
  for (const UnusableKey& key : state.keys->unusable) {
    out.push_back(fmt::format("{}: {}", in_backticks(key.id), key.reason));
  }
  return out;
}

Status OidcProvider::refresh(std::int64_t now_s) { return refresh_now(now_s, false); }

Status OidcProvider::refresh_now(std::int64_t now_s, bool forced) {
  const std::uint64_t before = state().refreshes;
  const std::lock_guard asking(refreshing_);
  const State current = state();
  // Another thread asked while this one waited.
  const bool fresh = current.refreshes != before;
  if (fresh || (!forced && !may_refresh(current, now_s))) {
    if (current.problem) return *current.problem;
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    state_.is_asking = true;
  }
  Status done = fetch_all(now_s);
  const std::lock_guard lock(mutex_);
  state_.is_asking = false;
  state_.tried_s = now_s;
  ++state_.refreshes;
  state_.problem = done.ok() ? std::nullopt : std::optional(done.error());
  return done;
}

Status OidcProvider::fetch_all(std::int64_t now_s) {
  State current = state();
  if (current.metadata == nullptr || current.problem || now_s < current.discovered_s ||
      now_s - current.discovered_s >= kDiscoveryAge) {
    const Result<std::string> document = get(discovery_url(settings_.issuer), kMaxDiscoveryBytes);
    if (!document.ok()) return document.error();
    Result<ProviderMetadata> metadata = parse_discovery(*document, settings_.issuer, settings_.plain);
    if (!metadata.ok()) return Error{metadata.error().code, metadata.error().message, settings_.issuer};
    current.metadata = std::make_shared<const ProviderMetadata>(std::move(metadata).value());
    const std::lock_guard lock(mutex_);
    state_.metadata = current.metadata;
    state_.discovered_s = now_s;
  }
  const Result<std::string> document = get(current.metadata->jwks_uri, kMaxKeySetBytes);
  if (!document.ok()) return document.error();
  Result<KeySet> keys = parse_key_set(*document);
  if (!keys.ok()) return Error{keys.error().code, keys.error().message, current.metadata->jwks_uri};
  if (keys->keys.empty()) {
    return Error{ErrorCode::refused, "the key set has no key that can be used", current.metadata->jwks_uri};
  }
  const std::lock_guard lock(mutex_);
  state_.keys = std::make_shared<const KeySet>(std::move(keys).value());
  state_.fetched_s = now_s;
  return {};
}

Result<std::string> OidcProvider::get(const std::string& url, std::size_t max_bytes) const {
  if (const Status good = check_url(url, settings_.plain); !good.ok()) return good.error();
  FetchRequest request;
  request.url = url;
  request.ca_file = settings_.ca_file;
  request.max_bytes = max_bytes;
  Result<FetchResponse> response = fetch_.fetch(request);
  if (!response.ok()) return response.error();
  if (response->status != 200) {
    return Error{ErrorCode::unavailable, fmt::format("the provider answered with status {}", response->status), url};
  }
  return std::move(response->body);
}

Result<FetchResponse> OidcProvider::post(const std::string& url, FormFields fields) const {
  FetchRequest request;
  request.method = "POST";
  request.url = url;
  request.ca_file = settings_.ca_file;
  request.max_bytes = kMaxAnswerBytes;
  if (settings_.client_secret.empty()) {
    fields.emplace_back("client_id", settings_.client_id);
  } else {  // RFC 6749, section 2.3.1: both parts are form-encoded first
    const oob::Secret pair(form_encode(settings_.client_id) + ":" + form_encode(settings_.client_secret.reveal()));
    request.authorization = oob::Secret("Basic " + encode_base64(pair.reveal()));
  }
  request.form = oob::Secret(form_encode(fields));
  return fetch_.fetch(request);
}

Result<std::shared_ptr<const ProviderMetadata>> OidcProvider::metadata(std::int64_t now_s) {
  if (std::shared_ptr<const ProviderMetadata> known = state().metadata; known != nullptr) return known;
  const Status done = refresh(now_s);
  std::shared_ptr<const ProviderMetadata> known = state().metadata;
  if (known != nullptr) return known;
  if (!done.ok()) return done.error();
  return Error{ErrorCode::unavailable, "the provider has not been asked", settings_.issuer};
}

Result<Claims> OidcProvider::verify_id_token(std::string_view token, const std::optional<std::string>& nonce,
                                             std::int64_t now_s) {
  TokenRules wanted = rules(JwtKind::id_token);
  wanted.nonce = nonce;
  for (bool again = false;; again = true) {
    const State current = state();
    const KeySet none;
    const std::shared_ptr<const KeySet> keys = usable_keys(current, now_s);
    Result<Claims> claims = verify_token(token, keys != nullptr ? *keys : none, wanted, now_s);
    if (claims.ok() || claims.error().code != ErrorCode::not_found || again) return claims;
    // The token came from the provider itself over TLS, not from a client that could forge the name of a key.
    if (const Status done = refresh_now(now_s, true); !done.ok()) return done.error();
  }
}

Result<PendingLogin> OidcProvider::make_login(const std::string& redirect_uri, std::string_view return_path,
                                              std::int64_t now_s) {
  const Result<std::shared_ptr<const ProviderMetadata>> provider = metadata(now_s);
  if (!provider.ok()) return provider.error();
  PendingLogin login;
  login.state = encode_base64url(random_bytes_(kSecretBytes));
  login.nonce = encode_base64url(random_bytes_(kSecretBytes));
  login.verifier = oob::Secret(encode_base64url(random_bytes_(kSecretBytes)));
  login.redirect_uri = redirect_uri;
  login.return_path = safe_return_path(return_path);
  const std::string& endpoint = (*provider)->authorization_endpoint;
  login.url = endpoint + (contains(endpoint, "?") ? "&" : "?") +
              form_encode(FormFields{{"response_type", "code"},
                                     {"client_id", settings_.client_id},
                                     {"redirect_uri", redirect_uri},
                                     {"scope", join(settings_.scopes, " ")},
                                     {"state", login.state},
                                     {"nonce", login.nonce},
                                     {"code_challenge", challenge_of(login.verifier.reveal())},
                                     {"code_challenge_method", "S256"}});
  return login;
}

Result<Claims> OidcProvider::finish_login(const PendingLogin& login, const LoginResponse& response,
                                          std::int64_t now_s) {
  const Result<std::shared_ptr<const ProviderMetadata>> provider = metadata(now_s);
  if (!provider.ok()) return provider.error();
  if (login.state.empty() || !equals_in_constant_time(response.state, login.state)) {
    return refuse("the state of the response is not that of this login");
  }
  // RFC 9207: a response of another provider must not be redeemed at this one.
  const bool names_issuer = !response.issuer.empty() || (*provider)->names_issuer_in_response;
  if (names_issuer && response.issuer != settings_.issuer) {
    return refuse(fmt::format("the response is of the issuer {}", in_backticks(response.issuer)));
  }
  if (!response.error.empty()) {
    return refuse(fmt::format("the provider refused the login: {}", in_backticks(response.error)));
  }
  if (response.code.empty() || response.code.size() > kMaxCodeBytes) return refuse("the response has no code");
  const Result<FetchResponse> fetched = post((*provider)->token_endpoint, {{"grant_type", "authorization_code"},
                                                                           {"code", response.code},
                                                                           {"redirect_uri", login.redirect_uri},
                                                                           {"code_verifier", login.verifier.reveal()}});
  if (!fetched.ok()) return fetched.error();
  const Result<TokenAnswer> answer = parse_token_answer(fetched->status, fetched->body);
  if (!answer.ok()) return answer.error();
  if (!answer->error.empty()) {
    return refuse(fmt::format("the provider refused the code: {} {}", answer->error, answer->detail));
  }
  return verify_id_token(answer->id_token, login.nonce, now_s);
}

Result<DeviceLogin> OidcProvider::start_device_login(std::int64_t now_s) {
  const Result<std::shared_ptr<const ProviderMetadata>> provider = metadata(now_s);
  if (!provider.ok()) return provider.error();
  if ((*provider)->device_authorization_endpoint.empty()) {
    return Error{ErrorCode::not_found, "the provider has no device login (RFC 8628)", settings_.issuer};
  }
  const Result<FetchResponse> fetched =
      post((*provider)->device_authorization_endpoint, {{"scope", join(settings_.scopes, " ")}});
  if (!fetched.ok()) return fetched.error();
  return parse_device_answer(fetched->status, fetched->body, settings_.plain);
}

Result<ProviderPoll> OidcProvider::poll_device_login(const oob::Secret& device_code, std::int64_t now_s) {
  const Result<std::shared_ptr<const ProviderMetadata>> provider = metadata(now_s);
  if (!provider.ok()) return provider.error();
  const Result<FetchResponse> fetched = post(
      (*provider)->token_endpoint, {{"grant_type", std::string(kDeviceGrant)}, {"device_code", device_code.reveal()}});
  if (!fetched.ok()) return fetched.error();
  const Result<TokenAnswer> answer = parse_token_answer(fetched->status, fetched->body);
  if (!answer.ok()) return answer.error();
  ProviderPoll poll;
  if (answer->error.empty()) {
    Result<Claims> claims = verify_id_token(answer->id_token, std::nullopt, now_s);
    if (!claims.ok()) return claims.error();
    poll.kind = ProviderPoll::Kind::done;
    poll.claims = std::move(claims).value();
  } else if (answer->error == "slow_down") {
    poll.kind = ProviderPoll::Kind::slow_down;
  } else if (answer->error == "expired_token") {
    poll.kind = ProviderPoll::Kind::expired;
  } else if (answer->error == "access_denied") {
    poll.kind = ProviderPoll::Kind::denied;
  } else if (answer->error == "server_error" || answer->error == "temporarily_unavailable") {
    return Error{ErrorCode::unavailable, "the provider answered: " + answer->error, {}};
  } else if (answer->error != "authorization_pending") {
    return refuse(fmt::format("the provider refused the device login: {} {}", answer->error, answer->detail));
  }
  return poll;
}

}  // namespace weft::access
