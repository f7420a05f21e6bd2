#include "access/token/token_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/hash.h"

namespace weft::access {
namespace {

constexpr std::int64_t kHourMs = 3600 * 1000;
constexpr std::int64_t kKeepDeadMs = 30 * kDayMs;

Error invalid_token(std::string why) { return {ErrorCode::invalid_input, std::move(why), {}}; }

}  // namespace

Result<std::unique_ptr<TokenStore>> TokenStore::open(std::string path, RandomFill random) {
  Result<StoreFile> file = StoreFile::open(std::move(path));
  if (!file.ok()) return file.error();
  Result<std::optional<std::string>> text = file->read();
  if (!text.ok()) return text.error();
  std::unique_ptr<TokenStore> store(new TokenStore(std::move(file).value(), std::move(random)));
  if (!text->has_value()) return store;
  Result<std::vector<TokenRecord>> records = read_token_records(store->file_.path(), **std::move(text));
  if (!records.ok()) return records.error();
  for (TokenRecord& record : records.value()) {
    store->uses_saved_ms_ = std::max(store->uses_saved_ms_, record.last_used_ms);
    std::string id = record.id;
    store->records_.emplace(std::move(id), std::move(record));
  }
  return store;
}

TokenStore::~TokenStore() {
  if (uses_unsaved_) (void)save();  // times of use only: all else is on disk already
}

Status TokenStore::check(const NewToken& token, std::int64_t now_ms) const {
  if (!is_plain_name(token.name, 100)) return invalid_token("a token needs a name of 1 to 100 printable bytes");
  if (!is_plain_name(token.user) || !is_plain_name(token.created_by)) return invalid_token("is not a user name");
  if (!is_wall_time(now_ms) || token.expires_ms <= now_ms) return invalid_token("the token would expire in the past");
  if (token.expires_ms - now_ms > kMaxTokenLifeMs || !is_wall_time(token.expires_ms))
    return invalid_token("a token expires after at most one year");
  if (token.groups.size() > kMaxTokenGroups ||
      !std::all_of(token.groups.begin(), token.groups.end(), [](const std::string& g) { return is_plain_name(g); }))
    return invalid_token(fmt::format("at most {} groups, with printable names", kMaxTokenGroups));
  if (!is_valid_restriction(token.restriction)) return invalid_token("viewer, operator and admin have no tenant");
  if (!token.restriction.tenant.empty() && !is_plain_name(token.restriction.tenant))
    return invalid_token("is not the name of a tenant");
  const auto live = std::count_if(records_.begin(), records_.end(), [&](const auto& entry) {
    return entry.second.user == token.user && entry.second.is_live(now_ms);
  });
  if (static_cast<std::size_t>(live) >= kMaxTokensPerUser)
    return Error{ErrorCode::refused, fmt::format("the user has {} tokens already: revoke some", live), {}};
  if (records_.size() >= kMaxTokens)
    return Error{ErrorCode::refused, fmt::format("there are {} tokens already: revoke some", records_.size()), {}};
  return {};
}

const TokenRecord* TokenStore::find_created(const NewToken& token) const {
  if (token.key.empty()) return nullptr;
  const auto found = std::find_if(records_.begin(), records_.end(), [&, key = sha256(token.key)](const auto& entry) {
    return entry.second.created_by == token.created_by && entry.second.key == key;
  });
  return found == records_.end() ? nullptr : &found->second;
}

// Old ones, and if the store is full all that cannot be used any more.
void TokenStore::drop_old(std::int64_t now_ms) {
  const bool is_full = records_.size() >= kMaxTokens;
  std::erase_if(records_, [&](const auto& entry) {
    const TokenRecord& record = entry.second;
    if (record.is_live(now_ms)) return false;
    const std::int64_t end =
        record.revoked_ms != 0 ? std::min(record.revoked_ms, record.expires_ms) : record.expires_ms;
    return is_full || now_ms - end > kKeepDeadMs;
  });
}

Result<CreatedToken> TokenStore::create(const NewToken& token, std::int64_t now_ms) {
  drop_old(now_ms);
  if (Status fine = check(token, now_ms); !fine.ok()) return fine.error();
  if (const TokenRecord* before = find_created(token); before != nullptr) {
    return Error{ErrorCode::conflict,
                 fmt::format("{} was created with this Idempotency-Key; its secret was in that answer only: if it is "
                             "lost, revoke the token and create another with a new key",
                             before->credential()),
                 {}};
  }
  std::string id = make_id(random_);
  while (records_.contains(id)) id = make_id(random_);
  const ParsedToken parsed = make_token(TokenKind::fixed, id, random_);
  TokenRecord record{id,
                     token.name,
                     token.user,
                     token.groups,
                     token.restriction,
                     SecretHash(parsed.secret),
                     now_ms,
                     token.expires_ms,
                     token.created_by,
                     0,
                     0,
                     token.parent,
                     token.key.empty() ? std::string() : sha256(token.key)};
  records_.emplace(id, record);
  if (Status saved = save(); !saved.ok()) {
    records_.erase(id);
    return saved.error();
  }
  return CreatedToken{std::move(record), format_token(parsed)};
}

CredentialCheck TokenStore::find(std::string_view text, std::int64_t now_ms) {
  const std::optional<ParsedToken> parsed = parse_token(text);
  if (!parsed || parsed->kind != TokenKind::fixed) return {};
  const auto found = records_.find(parsed->id);
  static const SecretHash kNone;
  const bool matches = SecretHash(parsed->secret).matches(found == records_.end() ? kNone : found->second.hash);
  if (found == records_.end() || !matches) return {};
  TokenRecord& record = found->second;
  if (record.revoked_ms != 0) return {{}, Refusal::revoked, record.credential()};
  if (now_ms >= record.expires_ms) return {{}, Refusal::expired, record.credential()};
  note_use(record, now_ms);
  CredentialUse use{{record.user, record.groups, Method::token, record.credential()},
                    record.restriction,
                    record.created_by,
                    record.expires_ms};
  return {std::move(use), {}, record.credential()};
}

// At most one write per hour, whatever the number of tokens in use.
void TokenStore::note_use(TokenRecord& record, std::int64_t now_ms) {
  if (now_ms - record.last_used_ms >= kHourMs && is_wall_time(now_ms)) {
    record.last_used_ms = now_ms;
    uses_unsaved_ = true;
  }
  if (!uses_unsaved_ || now_ms - uses_saved_ms_ < kHourMs) return;
  uses_saved_ms_ = now_ms;
  (void)save();  // informational: a full disk must not refuse requests
}

Status TokenStore::revoke(std::string_view id, std::int64_t now_ms) {
  const auto found = records_.find(std::string(id));
  if (found == records_.end()) return Error{ErrorCode::not_found, "there is no such token", {}};
  std::vector<TokenRecord*> ending{&found->second};
  for (std::size_t next = 0; next < ending.size(); ++next) {
    TokenRecord& record = *ending[next];
    if (record.revoked_ms == 0) record.revoked_ms = std::clamp<std::int64_t>(now_ms, 1, kMaxWallMs);
    for (auto& [child_id, child] : records_) {
      if (child.revoked_ms == 0 && child.parent == record.credential()) ending.push_back(&child);
    }
  }
  return save();
}

bool TokenStore::is_valid(std::string_view credential, std::int64_t now_ms) const {
  const std::optional<CredentialName> name = parse_credential_name(credential);
  if (!name || name->kind != TokenKind::fixed) return false;
  const TokenRecord* record = find_record(name->id);
  return record != nullptr && record->is_live(now_ms);
}

const TokenRecord* TokenStore::find_record(std::string_view id) const {
  const auto found = records_.find(std::string(id));
  return found == records_.end() ? nullptr : &found->second;
}

std::vector<TokenRecord> TokenStore::list(const std::optional<std::string>& user) const {
  std::vector<TokenRecord> listed;
  for (const auto& [id, record] : records_) {
    if (!user || record.user == *user) listed.push_back(record);
  }
  std::sort(listed.begin(), listed.end(), [](const TokenRecord& a, const TokenRecord& b) {
    return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id);
  });
  return listed;
}

Status TokenStore::save() {
  Status saved = file_.write(write_token_records(list(std::nullopt)));
  if (saved.ok()) uses_unsaved_ = false;
  return saved;
}

}  // namespace weft::access
