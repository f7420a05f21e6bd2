// Sessions of browsers and of `weft login`, after a sign-in at the OIDC provider. In memory, with a copy of the hashes
// on disk (mode 0600), so that a restart signs no user out. Used by one thread; times are milliseconds since 1970 UTC.
//
// A browser session is one secret in a cookie; its CSRF token is derived from it. A CLI login is an access token of 15
// minutes and a refresh token that works once and is replaced at each refresh. If a refresh token is used a second
// time, it was stolen, before or after the first use: the whole login ends (RFC 9700, section 4.14.2).
//
// One exception, for an answer that was lost on the way: as long as none of the tokens in the answer has been used, the
// same refresh token may be exchanged again. The tokens of the lost answer are then void, and using its refresh token
// ends the login: of two holders of the same refresh token, one always ends it. Not after a restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/secret/random.h"
#include "access/token/credential_check.h"
#include "access/token/store_file.h"
#include "access/token/token_text.h"
#include "base/result.h"

namespace weft::access {

struct SessionLimits {
  std::int64_t idle_ms = std::int64_t{30} * 60 * 1000;  // browser sessions only; a CLI login is used now and then
  std::int64_t longest_ms = std::int64_t{12} * 3600 * 1000;
  std::int64_t access_ms = std::int64_t{15} * 60 * 1000;
  std::size_t max_per_user = 20;  // the oldest one ends
  std::size_t max_total = 10'000;
};
inline constexpr std::size_t kMaxRefreshes = 1024;  // per login
inline constexpr std::size_t kMaxSessionGroups = 2000;

struct SessionRecord {
  TokenKind kind = TokenKind::session;  // or access, of a CLI login
  std::string id;
  std::string user;
  std::vector<std::string> groups;
  SecretHash hash;  // of the session secret or the access token
  std::int64_t created_ms = 0;
  std::int64_t used_ms = 0;
  // Of a CLI login.
  std::int64_t access_expires_ms = 0;
  SecretHash refresh;
  std::vector<SecretHash> used_refreshes;
  // Not in the file: the refresh token that was exchanged last, while its answer may have been lost.
  SecretHash previous;
  bool may_repeat = false;

  [[nodiscard]] std::string credential() const { return credential_name(kind, id); }
};

struct BrowserSession {
  std::string credential;  // "weft_s_ID"
  oob::Secret cookie;
  std::string ended;  // credential of the user's session that ended to make place; "": none
};

struct CliLogin {
  std::string credential;  // "weft_a_ID"
  std::string user;
  oob::Secret access_token;
  oob::Secret refresh_token;
  std::int64_t expires_in_s = 0;  // of the access token
  std::string ended;
};

struct RefreshAnswer {
  std::optional<CliLogin> login;
  bool repeated = false;  // with `login`: the earlier answer was lost; for the audit log
  // Without `login`:
  Refusal refusal = Refusal::unknown;
  bool reused = false;     // a refresh token was used twice, and the login has ended: for the audit log
  std::string credential;  // "" if unknown
  std::string user;
};

class SessionStore {
 public:
  // A missing file is an empty store; a damaged one is an error. Holds the lock of the file until destroyed.
  [[nodiscard]] static Result<std::unique_ptr<SessionStore>> open(std::string path, RandomFill random,
                                                                  const SessionLimits& limits);
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;
  ~SessionStore();

  // `unavailable`: there are too many sessions, or the file cannot be written; no session exists then.
  [[nodiscard]] Result<BrowserSession> begin_browser(const std::string& user, const std::vector<std::string>& groups,
                                                     std::int64_t now_ms);
  [[nodiscard]] Result<CliLogin> begin_cli(const std::string& user, const std::vector<std::string>& groups,
                                           std::int64_t now_ms);
  // Checks a session secret or an access token, and counts as use.
  [[nodiscard]] CredentialCheck find(std::string_view text, std::int64_t now_ms);
  // An error is one of writing the file: the refresh token is still unused then.
  [[nodiscard]] Result<RefreshAnswer> refresh(std::string_view text, std::int64_t now_ms);

  // Ends a session or login by its credential name, or all of a user. They end at once even if the file cannot be
  // written, which is an error: they would be back after a restart.
  [[nodiscard]] Status end(std::string_view credential);
  [[nodiscard]] Result<std::size_t> end_user(std::string_view user);

  // Of a credential name: whether an event stream with it may go on. O(1). A CLI login is valid until it ends, whether
  // or not its access token has been refreshed.
  [[nodiscard]] bool is_valid(std::string_view credential, std::int64_t now_ms) const;
  [[nodiscard]] std::size_t size() const { return records_.size(); }
  // After a reload of the configuration; applies to running sessions too.
  void set_limits(const SessionLimits& limits) { limits_ = limits; }

 private:
  SessionStore(StoreFile file, RandomFill random, const SessionLimits& limits)
      : file_(std::move(file)), random_(std::move(random)), limits_(limits) {}
  [[nodiscard]] Result<SessionRecord*> add(TokenKind kind, const std::string& user,
                                           const std::vector<std::string>& groups, std::int64_t now_ms,
                                           std::optional<SessionRecord>& evicted);
  [[nodiscard]] bool is_live(const SessionRecord& record, std::int64_t now_ms) const;
  void drop_dead(std::int64_t now_ms);
  [[nodiscard]] std::optional<SessionRecord> evict_oldest(const std::string& user);
  // Saves a new session, or removes it again.
  [[nodiscard]] Status commit(const std::string& id, std::optional<SessionRecord> evicted);
  [[nodiscard]] CliLogin issue(SessionRecord& record, std::int64_t now_ms);
  [[nodiscard]] Status save();

  StoreFile file_;
  RandomFill random_;
  SessionLimits limits_;
  std::unordered_map<std::string, SessionRecord> records_;
  bool uses_unsaved_ = false;
  std::int64_t uses_saved_ms_ = 0;
};

// The CSRF token of a browser session, for GET /api/v1/session; nullopt if `cookie` is not a session secret.
[[nodiscard]] std::optional<std::string> csrf_token_of(std::string_view cookie);
// Whether the header X-CSRF-Token belongs to the cookie, in constant time.
[[nodiscard]] bool is_csrf_token(std::string_view cookie, std::string_view header);

// The file's content. `name` is used in messages.
[[nodiscard]] Result<std::vector<SessionRecord>> read_session_records(const std::string& name, std::string text);
[[nodiscard]] std::string write_session_records(const std::vector<const SessionRecord*>& records);

}  // namespace weft::access
