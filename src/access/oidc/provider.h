// The OIDC provider that weft signs people in with: its addresses and signing keys, the authorization code flow with
// PKCE for browsers, the device flow for the CLI, and verification of bearer tokens.
//
// Methods marked "blocking" ask the provider and are for worker threads; all others return at once. Every method may be
// called from any thread. Time (seconds since 1970) and random bytes are passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/jose/key_set.h"
#include "access/jose/token.h"
#include "access/oidc/answers.h"
#include "access/oidc/http_fetch.h"
#include "base/result.h"
#include "oob/credentials/secret.h"

namespace weft::access {

// Cryptographically random bytes.
using RandomBytes = std::function<std::string(std::size_t count)>;

struct OidcSettings {
  std::string issuer;
  std::string client_id;
  oob::Secret client_secret;  // sent by client_secret_basic; empty: a public client
  std::string audience;       // of bearer tokens; empty: client_id
  // Further clients whose bearer tokens with several audiences are accepted (`azp`), beside client_id and audience.
  std::vector<std::string> authorized_parties;
  std::string user_claim = "sub";
  std::string groups_claim = "groups";
  std::vector<Algorithm> algorithms{Algorithm::rs256, Algorithm::es256};
  std::vector<std::string> scopes{"openid", "profile", "groups"};
  std::string ca_file;  // empty: the system's
  std::int64_t clock_skew_s = 60;
  PlainHttp plain = PlainHttp::refuse;
};

// The answer about a bearer token.
struct BearerAnswer {
  enum class Kind : std::uint8_t {
    verified,
    refused,
    needs_keys  // ask again after refresh(): there are no keys, they are too old, or the key is unknown
  };
  Kind kind = Kind::refused;
  Claims claims;  // if verified
  Error error;    // if refused, for the log; `unavailable`: the keys could not be had, which is not the token's fault
};

// A login that a browser has been sent away for; the caller keeps it on the server, bound to that browser by a cookie.
struct PendingLogin {
  std::string url;  // where the browser goes
  std::string state;
  std::string nonce;
  oob::Secret verifier;  // PKCE (RFC 7636)
  std::string redirect_uri;
  std::string return_path;
};
// Query parameters of the redirect back to weft; "": not there.
struct LoginResponse {
  std::string code{};
  std::string state{};
  std::string issuer{};  // `iss` (RFC 9207)
  std::string error{};   // such as "access_denied"
};

struct ProviderPoll {
  enum class Kind : std::uint8_t { done, pending, slow_down, expired, denied };
  Kind kind = Kind::pending;
  Claims claims;  // if done
};

// A path of this server: begins with one '/', so that no redirect leads to another host. Anything else becomes "/".
[[nodiscard]] std::string safe_return_path(std::string_view path);

class OidcProvider {
 public:
  // Unknown keys cause a refresh at most this often, so that forged tokens cannot make weft flood the provider.
  static constexpr std::int64_t kRefreshInterval = 30;
  // A key that the provider has removed is used until the next refresh. Keys of this age are refreshed, in the
  // background; while the provider does not answer, they are used up to the second age.
  static constexpr std::int64_t kRefreshAge = std::int64_t{15} * 60;
  static constexpr std::int64_t kMaxKeyAge = std::int64_t{60} * 60;
  static constexpr std::int64_t kDiscoveryAge = std::int64_t{24} * 3600;  // of the addresses

  // `fetch` must outlive it.
  OidcProvider(OidcSettings settings, HttpFetch& fetch, RandomBytes random_bytes);

  [[nodiscard]] const OidcSettings& settings() const { return settings_; }

  // A bearer token: an access or ID token of the provider for settings().audience.
  [[nodiscard]] BearerAnswer verify(std::string_view token, std::int64_t now_s) const;
  // There are no keys, or they are old, and no request for them is under way: call refresh() at the next opportunity.
  [[nodiscard]] bool needs_refresh(std::int64_t now_s) const;
  // Why a key of the provider's set is not used: "kid: reason", for the log.
  [[nodiscard]] std::vector<std::string> unusable_keys() const;
  // Blocking. Fetches the keys (and the addresses, if they are old), which replace the previous ones. Does nothing if
  // that was tried less than kRefreshInterval ago, and then returns that attempt's problem. When several threads call
  // it, one of them asks and the others wait.
  [[nodiscard]] Status refresh(std::int64_t now_s);

  // Blocking before the first successful refresh. `redirect_uri` must be registered at the provider.
  [[nodiscard]] Result<PendingLogin> make_login(const std::string& redirect_uri, std::string_view return_path,
                                                std::int64_t now_s);
  // Blocking. The caller removes the pending login before the call: it is good for one response.
  [[nodiscard]] Result<Claims> finish_login(const PendingLogin& login, const LoginResponse& response,
                                            std::int64_t now_s);

  // Blocking. The device code stays on the server; the person gets the user code and the address.
  [[nodiscard]] Result<DeviceLogin> start_device_login(std::int64_t now_s);
  // Blocking. The caller keeps the interval: after `slow_down` it is 5 s longer (RFC 8628, section 3.5).
  [[nodiscard]] Result<ProviderPoll> poll_device_login(const oob::Secret& device_code, std::int64_t now_s);

 private:
  struct State {
    std::shared_ptr<const ProviderMetadata> metadata;
    std::shared_ptr<const KeySet> keys;
    std::int64_t discovered_s = 0;
    std::int64_t fetched_s = 0;           // the keys
    std::optional<std::int64_t> tried_s;  // the last refresh
    std::optional<Error> problem;         // of the last refresh
    std::uint64_t refreshes = 0;
    bool is_asking = false;
  };

  [[nodiscard]] State state() const;
  // The keys that may be used; null: none.
  [[nodiscard]] static std::shared_ptr<const KeySet> usable_keys(const State& state, std::int64_t now_s);
  [[nodiscard]] static bool may_refresh(const State& state, std::int64_t now_s);
  [[nodiscard]] Status refresh_now(std::int64_t now_s, bool forced);
  [[nodiscard]] Status fetch_all(std::int64_t now_s);
  [[nodiscard]] Result<std::string> get(const std::string& url, std::size_t max_bytes) const;
  [[nodiscard]] Result<FetchResponse> post(const std::string& url, FormFields fields) const;
  [[nodiscard]] Result<std::shared_ptr<const ProviderMetadata>> metadata(std::int64_t now_s);
  [[nodiscard]] Result<Claims> verify_id_token(std::string_view token, const std::optional<std::string>& nonce,
                                               std::int64_t now_s);
  [[nodiscard]] TokenRules rules(JwtKind kind) const;

  const OidcSettings settings_;
  HttpFetch& fetch_;
  const RandomBytes random_bytes_;
  std::mutex refreshing_;     // held while the provider is asked
  mutable std::mutex mutex_;  // of state_; never held while waiting
  State state_;
};

}  // namespace weft::access
