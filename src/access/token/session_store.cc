#include "access/token/session_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace weft::access {
namespace {

constexpr std::int64_t kSaveUsesMs = std::int64_t{60} * 1000;

bool is_older(const SessionRecord& a, const SessionRecord& b) {
  return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id);
}

std::vector<std::string> usable_groups(const std::vector<std::string>& groups) {
  std::vector<std::string> usable;
  // Others cannot be in the access file.
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(usable),
               [](const std::string& group) { return is_plain_name(group); });
  return usable;
}

}  // namespace

Result<std::unique_ptr<SessionStore>> SessionStore::open(std::string path, RandomFill random,
                                                         const SessionLimits& limits) {
  Result<StoreFile> file = StoreFile::open(std::move(path));
  if (!file.ok()) return file.error();
  Result<std::optional<std::string>> text = file->read();
  if (!text.ok()) return text.error();
  std::unique_ptr<SessionStore> store(new SessionStore(std::move(file).value(), std::move(random), limits));
  if (!text->has_value()) return store;
  Result<std::vector<SessionRecord>> records = read_session_records(store->file_.path(), **std::move(text));
  if (!records.ok()) return records.error();
  for (SessionRecord& record : records.value()) {
    std::string id = record.id;
    store->records_.emplace(std::move(id), std::move(record));
  }
  return store;
}

SessionStore::~SessionStore() {
  if (uses_unsaved_) (void)save();  // times of use only: all else is on disk already
}

bool SessionStore::is_live(const SessionRecord& record, std::int64_t now_ms) const {
  if (now_ms - record.created_ms >= limits_.longest_ms) return false;
  return record.kind != TokenKind::session || now_ms - record.used_ms < limits_.idle_ms;
}

void SessionStore::drop_dead(std::int64_t now_ms) {
  std::erase_if(records_, [&](const auto& entry) { return !is_live(entry.second, now_ms); });
}

std::optional<SessionRecord> SessionStore::evict_oldest(const std::string& user) {
  std::size_t count = 0;
  const SessionRecord* oldest = nullptr;
  for (const auto& [id, record] : records_) {
    if (record.user != user) continue;
    ++count;
    if (oldest == nullptr || is_older(record, *oldest)) oldest = &record;
  }
  if (oldest == nullptr || count < limits_.max_per_user) return std::nullopt;
  auto node = records_.extract(oldest->id);
  return std::move(node.mapped());
}

Result<SessionRecord*> SessionStore::add(TokenKind kind, const std::string& user,
                                         const std::vector<std::string>& groups, std::int64_t now_ms,
                                         std::optional<SessionRecord>& evicted) {
  if (!is_plain_name(user)) return Error{ErrorCode::invalid_input, "is not a user name", {}};
  if (!is_wall_time(now_ms)) return Error{ErrorCode::invalid_input, "is not a time", {}};
  SessionRecord record;
  record.kind = kind;
  record.user = user;
  record.groups = usable_groups(groups);
  if (record.groups.size() > kMaxSessionGroups)
    return Error{ErrorCode::invalid_input, fmt::format("the user has more than {} groups", kMaxSessionGroups), {}};
  record.created_ms = now_ms;
  record.used_ms = now_ms;
  drop_dead(now_ms);
  evicted = evict_oldest(user);
  if (records_.size() >= limits_.max_total) {
    if (evicted) records_.emplace(evicted->id, *evicted);
    return Error{ErrorCode::unavailable, "too many sessions: try again later", {}};
  }
  do {
    record.id = make_id(random_);
  } while (records_.contains(record.id));
  std::string id = record.id;
  return &records_.emplace(std::move(id), std::move(record)).first->second;
}

Status SessionStore::commit(const std::string& id, std::optional<SessionRecord> evicted) {
  Status saved = save();
  if (saved.ok()) return saved;
  records_.erase(id);
  if (evicted) {
    std::string evicted_id = evicted->id;
    records_.emplace(std::move(evicted_id), *std::move(evicted));
  }
  return Error{ErrorCode::unavailable, saved.error().message, saved.error().where};
}

Result<BrowserSession> SessionStore::begin_browser(const std::string& user, const std::vector<std::string>& groups,
                                                   std::int64_t now_ms) {
  std::optional<SessionRecord> evicted;
  Result<SessionRecord*> record = add(TokenKind::session, user, groups, now_ms, evicted);
  if (!record.ok()) return record.error();
  const ParsedToken token = make_token(TokenKind::session, record.value()->id, random_);
  record.value()->hash = SecretHash(token.secret);
  BrowserSession session{record.value()->credential(), format_token(token), evicted ? evicted->credential() : ""};
  if (Status saved = commit(token.id, std::move(evicted)); !saved.ok()) return saved.error();
  return session;
}

CliLogin SessionStore::issue(SessionRecord& record, std::int64_t now_ms) {
  const ParsedToken access = make_token(TokenKind::access, record.id, random_);
  const ParsedToken refresh = make_token(TokenKind::refresh, record.id, random_);
  record.hash = SecretHash(access.secret);
  record.refresh = SecretHash(refresh.secret);
  record.used_ms = now_ms;
  record.access_expires_ms = std::min(now_ms + limits_.access_ms, record.created_ms + limits_.longest_ms);
  return {record.credential(),
          record.user,
          format_token(access),
          format_token(refresh),
          std::max<std::int64_t>((record.access_expires_ms - now_ms) / 1000, 0),
          {}};
}

Result<CliLogin> SessionStore::begin_cli(const std::string& user, const std::vector<std::string>& groups,
                                         std::int64_t now_ms) {
  std::optional<SessionRecord> evicted;
  Result<SessionRecord*> record = add(TokenKind::access, user, groups, now_ms, evicted);
  if (!record.ok()) return record.error();
  const std::string id = record.value()->id;
  CliLogin login = issue(*record.value(), now_ms);
  if (evicted) login.ended = evicted->credential();
  if (Status saved = commit(id, std::move(evicted)); !saved.ok()) return saved.error();
  return login;
}

CredentialCheck SessionStore::find(std::string_view text, std::int64_t now_ms) {
  const std::optional<ParsedToken> parsed = parse_token(text);
  if (!parsed || (parsed->kind != TokenKind::session && parsed->kind != TokenKind::access)) return {};
  const auto found = records_.find(parsed->id);
  static const SecretHash kNone;
  const bool matches = SecretHash(parsed->secret).matches(found == records_.end() ? kNone : found->second.hash);
  if (found == records_.end() || !matches || found->second.kind != parsed->kind) return {};
  SessionRecord& record = found->second;
  record.may_repeat = false;  // the answer to the last refresh has arrived
  const bool is_cli = record.kind == TokenKind::access;
  if (!is_live(record, now_ms) || (is_cli && now_ms >= record.access_expires_ms))
    return {{}, Refusal::expired, record.credential()};
  if (now_ms > record.used_ms && is_wall_time(now_ms)) {
    record.used_ms = now_ms;
    uses_unsaved_ = true;
  }
  if (uses_unsaved_ && now_ms - uses_saved_ms_ >= kSaveUsesMs) {
    uses_saved_ms_ = now_ms;
    (void)save();  // after a failure, sessions would only seem to be idle for longer
  }
  CredentialUse use{{record.user, record.groups, is_cli ? Method::cli : Method::browser, record.credential()},
                    {},
                    record.user,
                    is_cli ? record.access_expires_ms : record.created_ms + limits_.longest_ms};
  return {std::move(use), {}, record.credential()};
}

Result<RefreshAnswer> SessionStore::refresh(std::string_view text, std::int64_t now_ms) {
  RefreshAnswer answer;
  const std::optional<ParsedToken> parsed = parse_token(text);
  if (!parsed || parsed->kind != TokenKind::refresh || !is_wall_time(now_ms)) return answer;
  const auto found = records_.find(parsed->id);
  if (found == records_.end() || found->second.kind != TokenKind::access) return answer;
  SessionRecord& record = found->second;
  const SecretHash hash(parsed->secret);
  const bool is_current = record.refresh.matches(hash);
  const bool is_used = std::any_of(record.used_refreshes.begin(), record.used_refreshes.end(),
                                   [&](const SecretHash& used) { return used.matches(hash); });
  if (!is_current && !is_used) return answer;
  answer.credential = record.credential();
  answer.user = record.user;
  answer.repeated = record.may_repeat && record.previous.matches(hash);
  const bool is_stolen = is_used && !answer.repeated;
  const bool is_over = !is_live(record, now_ms) || record.used_refreshes.size() >= kMaxRefreshes;
  if (is_stolen || is_over) {
    answer.reused = is_stolen;
    answer.refusal = is_stolen ? Refusal::revoked : Refusal::expired;
    records_.erase(found);
    // In memory it has ended in any case.
    if (Status saved = save(); !saved.ok() && !is_stolen) return saved.error();
    return answer;
  }
  const SessionRecord before = record;
  record.used_refreshes.push_back(record.refresh);  // after a lost answer, the one in that
  record.previous = hash;
  record.may_repeat = true;
  CliLogin login = issue(record, now_ms);
  if (Status saved = save(); !saved.ok()) {
    record = before;
    return saved.error();
  }
  answer.login = std::move(login);
  return answer;
}

Status SessionStore::end(std::string_view credential) {
  const std::optional<CredentialName> name = parse_credential_name(credential);
  const auto found = name ? records_.find(name->id) : records_.end();
  if (found == records_.end() || found->second.kind != name->kind)
    return Error{ErrorCode::not_found, "there is no such session", {}};
  records_.erase(found);
  return save();
}

Result<std::size_t> SessionStore::end_user(std::string_view user) {
  const std::size_t ended = std::erase_if(records_, [&](const auto& entry) { return entry.second.user == user; });
  if (ended == 0) return ended;
  if (Status saved = save(); !saved.ok()) return saved.error();
  return ended;
}

bool SessionStore::is_valid(std::string_view credential, std::int64_t now_ms) const {
  const std::optional<CredentialName> name = parse_credential_name(credential);
  if (!name) return false;
  const auto found = records_.find(name->id);
  return found != records_.end() && found->second.kind == name->kind && is_live(found->second, now_ms);
}

Status SessionStore::save() {
  std::vector<const SessionRecord*> sorted;
  sorted.reserve(records_.size());
  for (const auto& [id, record] : records_) sorted.push_back(&record);
  std::sort(sorted.begin(), sorted.end(),
            [](const SessionRecord* a, const SessionRecord* b) { return is_older(*a, *b); });
  Status saved = file_.write(write_session_records(sorted));
  if (saved.ok()) uses_unsaved_ = false;
  return saved;
}

std::optional<std::string> csrf_token_of(std::string_view cookie) {
  const std::optional<ParsedToken> parsed = parse_token(cookie);
  if (!parsed || parsed->kind != TokenKind::session) return std::nullopt;
  // Neither the cookie nor its stored hash can be computed from it.
  return SecretHash(oob::Secret("weft csrf " + parsed->secret.reveal())).hex();
}

bool is_csrf_token(std::string_view cookie, std::string_view header) {
  const std::optional<std::string> expected = csrf_token_of(cookie);
  return expected && is_equal_secret(*expected, header);
}

}  // namespace weft::access
