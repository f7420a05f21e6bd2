// The file of a TokenStore: {"weft_tokens": 1, "tokens": [{"id": ..., "hash": ..., ...}]}.
#include <fmt/format.h>

#include <unordered_set>

#include "access/token/token_store.h"
#include "base/value.h"
#include "model/schema.h"

namespace weft::access {

struct TokenSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> id;
  model::Sourced<std::string> name;
  model::Sourced<std::string> user;
  model::Sourced<std::vector<std::string>> groups;
  model::Sourced<std::string> role;
  model::Sourced<std::string> tenant;
  model::Sourced<std::string> hash;
  model::Sourced<std::int64_t> created;
  model::Sourced<std::int64_t> expires;
  model::Sourced<std::string> created_by;
  model::Sourced<std::int64_t> last_used;
  model::Sourced<std::int64_t> revoked;
  model::Sourced<std::string> parent;
  model::Sourced<std::string> key;
};

struct TokenFileSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> weft_tokens;
  model::Sourced<std::vector<TokenSpec>> tokens;
};

}  // namespace weft::access

namespace weft::model {

template <>
const Schema& schema_of<access::TokenSpec>() {
  static const Schema schema = [] {
    using R = access::TokenSpec;
    SchemaBuilder<R> b("token", "A static token.");
    b.field("id", &R::id, "12 characters of [a-z0-9]").required();
    b.field("name", &R::name, "what it is for").required();
    b.field("user", &R::user, "whom it identifies").required();
    b.field("groups", &R::groups, "groups of the user");
    b.field("role", &R::role, "at most this role");
    b.field("tenant", &R::tenant, "at most this tenant");
    b.field("hash", &R::hash, "SHA-256 of the secret").required();
    b.field("created", &R::created, "milliseconds since 1970").range(0, access::kMaxWallMs).required();
    b.field("expires", &R::expires, "milliseconds since 1970").range(0, access::kMaxWallMs).required();
    b.field("created_by", &R::created_by, "user name").required();
    b.field("last_used", &R::last_used, "milliseconds since 1970").range(0, access::kMaxWallMs);
    b.field("revoked", &R::revoked, "milliseconds since 1970").range(0, access::kMaxWallMs);
    b.field("parent", &R::parent, "token that it was created with");
    b.field("key", &R::key, "SHA-256 of the idempotency key");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::TokenFileSpec>() {
  static const Schema schema = [] {
    using R = access::TokenFileSpec;
    SchemaBuilder<R> b("tokens", "The static tokens of a server.");
    b.field("weft_tokens", &R::weft_tokens, "version of the file format: 1").required().range(1, 1);
    b.field("tokens", &R::tokens, "the tokens").required();
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model

namespace weft::access {
namespace {

class TokenFileReader {
 public:
  explicit TokenFileReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::vector<TokenRecord> read(const TokenFileSpec& spec) {
    std::vector<TokenRecord> records;
    if (spec.tokens->size() > kMaxTokens) error(spec.tokens.place, fmt::format("more than {} tokens", kMaxTokens));
    records.reserve(spec.tokens->size());
    for (const TokenSpec& token : spec.tokens.value) records.push_back(read_token(token));
    return records;
  }

 private:
  void error(const SourceLocation& place, std::string message) { diagnostics_.error(place, std::move(message)); }

  TokenRecord read_token(const TokenSpec& spec) {
    TokenRecord record{spec.id.value,
                       spec.name.value,
                       spec.user.value,
                       spec.groups.value,
                       {},
                       {},
                       spec.created.value,
                       spec.expires.value,
                       spec.created_by.value,
                       spec.last_used.value,
                       spec.revoked.value,
                       spec.parent.value,
                       spec.key.value};
    if (spec.parent.from_file() && !parse_credential_name(record.parent)) error(spec.parent.place, "is not a token");
    if (spec.key.from_file() && !SecretHash::from_hex(record.key)) error(spec.key.place, "is not a SHA-256 hash");
    if (!parse_credential_name(record.credential())) error(spec.id.place, "is not the id of a token");
    if (!ids_.insert(record.id).second) error(spec.id.place, "two tokens have the same id");
    const std::optional<SecretHash> hash = SecretHash::from_hex(spec.hash.value);
    if (!hash) error(spec.hash.place, "is not a SHA-256 hash of 64 digits");
    record.hash = hash.value_or(SecretHash());
    if (!is_plain_name(record.name)) error(spec.name.place, "is not the name of a token");
    if (!is_plain_name(record.user)) error(spec.user.place, "is not a user name");
    if (!is_plain_name(record.created_by)) error(spec.created_by.place, "is not a user name");
    if (record.expires_ms <= record.created_ms || record.expires_ms - record.created_ms > kMaxTokenLifeMs)
      error(spec.expires.place, "a token expires at most one year after its creation");
    if (record.groups.size() > kMaxTokenGroups) error(spec.groups.place, "the token has too many groups");
    for (const std::string& group : record.groups) {
      if (!is_plain_name(group)) error(spec.groups.place, "is not a list of groups");
    }
    record.restriction.tenant = spec.tenant.value;
    if (spec.tenant.from_file() && !is_plain_name(spec.tenant.value)) error(spec.tenant.place, "is not a tenant");
    if (spec.role.from_file()) {
      record.restriction.role = find_role(spec.role.value);
      if (!record.restriction.role) error(spec.role.place, "is not a role");
    }
    if (!is_valid_restriction(record.restriction)) error(spec.place, "the role does not belong to a tenant");
    return record;
  }

  Diagnostics& diagnostics_;
  std::unordered_set<std::string> ids_;
};

}  // namespace

Result<std::vector<TokenRecord>> read_token_records(const std::string& name, std::string text) {
  Sources sources;
  const FileId file = sources.add(name, std::move(text));
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_store_json(sources, file, diagnostics);
  TokenFileSpec spec;
  if (root) model::Codec<TokenFileSpec>::read(*root, diagnostics, spec);
  if (!root || diagnostics.has_errors()) return store_error(diagnostics, sources, name);
  std::vector<TokenRecord> records = TokenFileReader(diagnostics).read(spec);
  if (diagnostics.has_errors()) return store_error(diagnostics, sources, name);
  return records;
}

std::string write_token_records(const std::vector<TokenRecord>& records) {
  Value tokens = Value::list();
  for (const TokenRecord& record : records) {
    Value token = Value::map().set("id", record.id).set("name", record.name).set("user", record.user);
    if (!record.groups.empty()) token.put("groups", Value::texts(record.groups));
    if (record.restriction.role) token.put("role", to_text(*record.restriction.role));
    if (!record.restriction.tenant.empty()) token.put("tenant", record.restriction.tenant);
    token.put("hash", record.hash.hex());
    token.put("created", record.created_ms);
    token.put("expires", record.expires_ms);
    token.put("created_by", record.created_by);
    if (record.last_used_ms != 0) token.put("last_used", record.last_used_ms);
    if (record.revoked_ms != 0) token.put("revoked", record.revoked_ms);
    if (!record.parent.empty()) token.put("parent", record.parent);
    if (!record.key.empty()) token.put("key", record.key);
    tokens.add(std::move(token));
  }
  return write_json(Value::map().set("weft_tokens", 1).set("tokens", std::move(tokens)), 1);
}

}  // namespace weft::access
