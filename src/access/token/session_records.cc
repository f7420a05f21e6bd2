// The file of a SessionStore: {"weft_sessions": 1, "sessions": [{"id": ..., "kind": "browser", "hash": ..., ...}]}.
#include <fmt/format.h>

#include <unordered_set>

#include "access/token/session_store.h"
#include "base/value.h"
#include "model/schema.h"

namespace weft::access {

struct SessionSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> id;
  model::Sourced<std::string> kind;
  model::Sourced<std::string> user;
  model::Sourced<std::vector<std::string>> groups;
  model::Sourced<std::string> hash;
  model::Sourced<std::int64_t> created;
  model::Sourced<std::int64_t> used;
  model::Sourced<std::int64_t> access_expires;
  model::Sourced<std::string> refresh;
  model::Sourced<std::vector<std::string>> used_refreshes;
};

struct SessionFileSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> weft_sessions;
  model::Sourced<std::vector<SessionSpec>> sessions;
};

}  // namespace weft::access

namespace weft::model {

template <>
const Schema& schema_of<access::SessionSpec>() {
  static const Schema schema = [] {
    using R = access::SessionSpec;
    SchemaBuilder<R> b("session", "A browser session or a CLI login.");
    b.field("id", &R::id, "12 characters of [a-z0-9]").required();
    b.field("kind", &R::kind, "browser or cli").required();
    b.field("user", &R::user, "whom it identifies").required();
    b.field("groups", &R::groups, "groups of the user");
    b.field("hash", &R::hash, "SHA-256 of the session secret or the access token").required();
    b.field("created", &R::created, "milliseconds since 1970").range(0, access::kMaxWallMs).required();
    b.field("used", &R::used, "milliseconds since 1970").range(0, access::kMaxWallMs).required();
    b.field("access_expires", &R::access_expires, "milliseconds since 1970").range(0, access::kMaxWallMs);
    b.field("refresh", &R::refresh, "SHA-256 of the refresh token");
    b.field("used_refreshes", &R::used_refreshes, "SHA-256 of earlier refresh tokens");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::SessionFileSpec>() {
  static const Schema schema = [] {
    using R = access::SessionFileSpec;
    SchemaBuilder<R> b("sessions", "The sessions of a server.");
    b.field("weft_sessions", &R::weft_sessions, "version of the file format: 1").required().range(1, 1);
    b.field("sessions", &R::sessions, "the sessions").required();
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model

namespace weft::access {
namespace {

class SessionFileReader {
 public:
  explicit SessionFileReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  SessionRecord read(const SessionSpec& spec) {
    SessionRecord record;
    if (spec.kind.value == "cli") {
      record.kind = TokenKind::access;
    } else if (spec.kind.value != "browser") {
      error(spec.kind.place, "is neither browser nor cli");
    }
    record.id = spec.id.value;
    if (!parse_credential_name(record.credential())) error(spec.id.place, "is not the id of a session");
    if (!ids_.insert(record.id).second) error(spec.id.place, "two sessions have the same id");
    record.user = spec.user.value;
    if (!is_plain_name(record.user)) error(spec.user.place, "is not a user name");
    record.groups = spec.groups.value;
    if (record.groups.size() > kMaxSessionGroups) error(spec.groups.place, "the session has too many groups");
    for (const std::string& group : record.groups) {
      if (!is_plain_name(group)) error(spec.groups.place, "is not a list of groups");
    }
    record.hash = read_hash(spec.hash.value, spec.hash.place);
    record.created_ms = spec.created.value;
    record.used_ms = spec.used.value;
    read_login(spec, record);
    return record;
  }

 private:
  void error(const SourceLocation& place, std::string message) { diagnostics_.error(place, std::move(message)); }

  SecretHash read_hash(const std::string& text, const SourceLocation& place) {
    const std::optional<SecretHash> hash = SecretHash::from_hex(text);
    if (!hash) error(place, "is not a SHA-256 hash of 64 digits");
    return hash.value_or(SecretHash());
  }

  void read_login(const SessionSpec& spec, SessionRecord& record) {
    const bool is_cli = record.kind == TokenKind::access;
    if (spec.refresh.from_file() != is_cli || spec.access_expires.from_file() != is_cli ||
        (spec.used_refreshes.from_file() && !is_cli))
      return error(spec.place, "refresh and access_expires belong to a CLI login");
    if (!is_cli) return;
    record.access_expires_ms = spec.access_expires.value;
    record.refresh = read_hash(spec.refresh.value, spec.refresh.place);
    if (spec.used_refreshes->size() > kMaxRefreshes) return error(spec.used_refreshes.place, "too many refresh tokens");
    for (const std::string& text : spec.used_refreshes.value)
      record.used_refreshes.push_back(read_hash(text, spec.used_refreshes.place));
  }

  Diagnostics& diagnostics_;
  std::unordered_set<std::string> ids_;
};

}  // namespace

Result<std::vector<SessionRecord>> read_session_records(const std::string& name, std::string text) {
  Sources sources;
  const FileId file = sources.add(name, std::move(text));
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_store_json(sources, file, diagnostics);
  SessionFileSpec spec;
  if (root) model::Codec<SessionFileSpec>::read(*root, diagnostics, spec);
  if (!root || diagnostics.has_errors()) return store_error(diagnostics, sources, name);
  SessionFileReader reader(diagnostics);
  std::vector<SessionRecord> records;
  records.reserve(spec.sessions->size());
  for (const SessionSpec& session : spec.sessions.value) records.push_back(reader.read(session));
  if (diagnostics.has_errors()) return store_error(diagnostics, sources, name);
  return records;
}

std::string write_session_records(const std::vector<const SessionRecord*>& records) {
  Value sessions = Value::list();
  for (const SessionRecord* record : records) {
    const bool is_cli = record->kind == TokenKind::access;
    Value session = Value::map().set("id", record->id).set("kind", is_cli ? "cli" : "browser");
    session.put("user", record->user);
    if (!record->groups.empty()) session.put("groups", Value::texts(record->groups));
    session.put("hash", record->hash.hex());
    session.put("created", record->created_ms);
    session.put("used", record->used_ms);
    if (is_cli) {
      session.put("access_expires", record->access_expires_ms);
      session.put("refresh", record->refresh.hex());
      Value used = Value::list();
      for (const SecretHash& hash : record->used_refreshes) used.add(hash.hex());
      if (!used.empty()) session.put("used_refreshes", std::move(used));
    }
    sessions.add(std::move(session));
  }
  return write_json(Value::map().set("weft_sessions", 1).set("sessions", std::move(sessions)), 1);
}

}  // namespace weft::access
