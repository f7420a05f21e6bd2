// Static tokens of users and machines: random, stored as hashes in a file of mode 0600, expiring, revocable. Used by
// one thread. Times are milliseconds since 1970 UTC and passed in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/secret/random.h"
#include "access/token/credential_check.h"
#include "access/token/restriction.h"
#include "access/token/store_file.h"
#include "access/token/token_text.h"
#include "base/result.h"

namespace weft::access {

inline constexpr std::int64_t kDayMs = std::int64_t{24} * 3600 * 1000;
inline constexpr std::int64_t kDefaultTokenLifeMs = 30 * kDayMs;
inline constexpr std::int64_t kMaxTokenLifeMs = 366 * kDayMs;
inline constexpr std::size_t kMaxTokens = 10'000;
inline constexpr std::size_t kMaxTokensPerUser = 100;
inline constexpr std::size_t kMaxTokenGroups = 100;

struct TokenRecord {
  std::string id;
  std::string name;  // for people: "ci of project x"
  std::string user;
  std::vector<std::string> groups;
  Restriction restriction;
  SecretHash hash;
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;
  std::string created_by;
  std::int64_t last_used_ms = 0;  // to the hour; 0: never
  std::int64_t revoked_ms = 0;    // 0: it is not
  std::string parent;             // credential of the token that it was created with; "": none
  std::string key;                // SHA-256 of the idempotency key that it was created with; "": none

  [[nodiscard]] bool is_live(std::int64_t now_ms) const { return revoked_ms == 0 && now_ms < expires_ms; }
  [[nodiscard]] std::string credential() const { return credential_name(TokenKind::fixed, id); }
};

struct NewToken {
  std::string name;
  std::string user;
  std::vector<std::string> groups{};
  Restriction restriction{};
  std::int64_t expires_ms = 0;
  std::string created_by;
  std::string parent{};  // credential of the token that asks for it; "": none
  std::string key{};     // idempotency key; "": none
};

struct CreatedToken {
  TokenRecord record;
  oob::Secret text;  // shown once
};

class TokenStore {
 public:
  // A missing file is an empty store; a damaged one is an error. Holds the lock of the file until destroyed.
  [[nodiscard]] static Result<std::unique_ptr<TokenStore>> open(std::string path, RandomFill random);
  TokenStore(const TokenStore&) = delete;
  TokenStore& operator=(const TokenStore&) = delete;
  ~TokenStore();

  // Durable when it returns. `invalid_input`: name, user, time or restriction; `refused`: a limit on the number;
  // `conflict`: its creator has created one with this key before, whose secret cannot be shown again.
  [[nodiscard]] Result<CreatedToken> create(const NewToken& token, std::int64_t now_ms);
  // Checks a token string. The same work whether or not the token exists.
  [[nodiscard]] CredentialCheck find(std::string_view text, std::int64_t now_ms);
  // With all tokens that were created with it. Takes effect at once, even if the file cannot be written, which is an
  // error then. `not_found`: no such token. Revoking a revoked token changes nothing.
  [[nodiscard]] Status revoke(std::string_view id, std::int64_t now_ms);

  // Of a credential name "weft_t_ID": whether requests and event streams with it may go on.
  [[nodiscard]] bool is_valid(std::string_view credential, std::int64_t now_ms) const;
  [[nodiscard]] const TokenRecord* find_record(std::string_view id) const;
  // By time of creation, of one user or (nullopt) all; revoked and expired ones stay for 30 days.
  [[nodiscard]] std::vector<TokenRecord> list(const std::optional<std::string>& user) const;

 private:
  TokenStore(StoreFile file, RandomFill random) : file_(std::move(file)), random_(std::move(random)) {}
  [[nodiscard]] Status save();
  [[nodiscard]] Status check(const NewToken& token, std::int64_t now_ms) const;
  // The one that the same creator made with the same key.
  [[nodiscard]] const TokenRecord* find_created(const NewToken& token) const;
  void drop_old(std::int64_t now_ms);
  void note_use(TokenRecord& record, std::int64_t now_ms);

  StoreFile file_;
  RandomFill random_;
  std::unordered_map<std::string, TokenRecord> records_;
  bool uses_unsaved_ = false;
  std::int64_t uses_saved_ms_ = 0;
};

// The file's content. `name` is used in messages.
[[nodiscard]] Result<std::vector<TokenRecord>> read_token_records(const std::string& name, std::string text);
[[nodiscard]] std::string write_token_records(const std::vector<TokenRecord>& records);

}  // namespace weft::access
