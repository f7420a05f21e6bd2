#include "access/audit/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::access {
namespace {

constexpr std::size_t kMaxText = 2000;  // bytes
constexpr std::size_t kMaxMember = 1000;
constexpr std::size_t kMaxMembers = 32;
constexpr std::size_t kMaxEvidence = 16U << 10U;  // bytes as JSON
constexpr std::size_t kMaxDepth = 8;
constexpr std::string_view kRemoved = "[removed]";
constexpr std::size_t kTokenId = 12;
constexpr std::size_t kMinSigned = 16;  // characters of a signed token after "eyJ"

constexpr std::array<std::string_view, 32> kMembers = {
    "action",     "after", "attempt", "confirm", "device",    "devices", "directory", "engine",
    "expires_in", "for",   "force",   "from",    "groups",    "image",   "in",        "job",
    "limit",      "name",  "node",    "nodes",   "operation", "plan",    "preempt",   "profile",
    "role",       "state", "step",    "task",    "tenant",    "to",      "user",      "verb"};

bool is_token_char(char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; }
bool is_signed_char(char c) { return is_token_char(c) || c == '.' || c == '=' || c == '+' || c == '/' || c == '~'; }

std::size_t run_of(std::string_view text, bool (*accepts)(char)) {
  std::size_t length = 0;
  while (length < text.size() && accepts(text[length])) ++length;
  return length;
}

// The length of a token at the start of `text`, and what is written instead; 0: there is none.
std::size_t token_at(std::string_view text, std::string& instead) {
  constexpr std::string_view kPrefix = "weft_";
  if (text.starts_with(kPrefix) && text.size() > kPrefix.size() + 2 && text[kPrefix.size() + 1] == '_') {
    const std::size_t length = run_of(text, &is_token_char);
    const std::size_t shown = kPrefix.size() + 2 + kTokenId;  // "weft_t_" and the ID
    const bool has_id = length > shown && text[shown] == '_';
    // Without an ID of the usual length, what follows may be all secret.
    instead = fmt::format("{}{}", text.substr(0, has_id ? shown + 1 : kPrefix.size() + 2), kRemoved);
    return length > shown + (has_id ? 1 : 0) ? length : 0;
  }
  if (text.starts_with("eyJ")) {
    const std::size_t length = run_of(text, &is_signed_char);
    instead = kRemoved;
    return length >= kMinSigned ? length : 0;
  }
  for (const std::string_view scheme : {"bearer ", "basic "}) {
    if (text.size() <= scheme.size() || !equals_ignoring_case(text.substr(0, scheme.size()), scheme)) continue;
    const std::size_t length = run_of(text.substr(scheme.size()), &is_signed_char);
    instead = fmt::format("{}{}", text.substr(0, scheme.size()), kRemoved);
    if (length >= kMinSigned) return scheme.size() + length;
  }
  return 0;
}

std::string clean(std::string_view text, std::size_t limit = kMaxText) {
  return printable(remove_tokens(text.substr(0, 16 * limit)), limit);
}

Value clean_value(const Value& value, std::size_t depth = 0) {
  if (depth > kMaxDepth) return {};
  if (value.is_text()) return clean(value.text(), kMaxMember);
  if (value.is_list()) {
    Value::List items;
    for (const Value& item : value.items()) items.push_back(clean_value(item, depth + 1));
    return items;
  }
  if (value.is_map()) {
    Value::Map entries;
    for (const Value::Entry& entry : value.entries())
      entries.push_back({clean(entry.key, kMaxMember), clean_value(entry.value, depth + 1)});
    return entries;
  }
  return value;
}

Value evidence_of(const Value& given) {
  Value evidence = clean_value(given);
  if (write_json_line(evidence).size() <= kMaxEvidence) return evidence;
  return Value::map().set("dropped", "longer than an entry may be");
}

void put_text(Value& detail, std::string_view key, std::string_view text) {
  if (!text.empty()) detail.put(std::string(key), clean(text));
}

void put_source(Value& detail, const AuditSource& source) {
  put_text(detail, "actor", source.identity.user);
  put_text(detail, "method", to_text(source.identity.method));
  put_text(detail, "credential", source.identity.credential);
  put_text(detail, "address", source.address);
  put_text(detail, "request_id", source.request_id);
}

Value members_of(const AuditIntent& intent) {
  Value members = Value::map();
  for (const auto& [name, value] : intent.members) {
    if (!is_audited_member(name) || members.entries().size() == kMaxMembers) continue;
    members.set(name, clean(value, kMaxMember));
  }
  return members;
}

oob::JournalEntry entry_of(oob::Phase phase, std::string_view operation, std::string_view object,
                           const std::string& request) {
  oob::JournalEntry entry;
  entry.operation = request;
  entry.phase = phase;
  entry.verb = clean(operation, 100);
  entry.device = clean(object, 500);
  entry.detail = Value::map();
  return entry;
}

std::string text_member(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  return value != nullptr && value->is_text() ? value->text() : std::string();
}

std::int64_t number_member(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  const std::int64_t* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->state());
  return number == nullptr ? 0 : *number;
}

Value map_member(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  return value != nullptr && value->is_map() ? *value : Value();
}

// For the severity in syslog. After an internal error it is unknown how far the request came.
std::string_view result_of(int status) {
  if (status < 400) return "done";
  return status == 500 || status == 504 ? "unknown" : "not done";
}

}  // namespace

AuditBody digest_body(std::string_view body) { return {body.empty() ? std::string() : sha256(body), body.size()}; }

bool is_audited_member(std::string_view name) {
  return std::find(kMembers.begin(), kMembers.end(), name) != kMembers.end();
}

std::string remove_tokens(std::string_view text) {
  std::string out;
  std::string instead;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool may_begin = c == 'w' || c == 'e' || c == 'B' || c == 'b';
    const std::size_t length = may_begin ? token_at(text.substr(at), instead) : 0;
    if (length == 0) {
      out += c;
      ++at;
    } else {
      out += instead;
      at += length;
    }
  }
  return out;
}

oob::JournalEntry journal_entry(const AuditIntent& intent, const std::string& request) {
  oob::JournalEntry entry = entry_of(oob::Phase::intent, intent.operation, intent.object, request);
  put_source(entry.detail, intent.source);
  put_text(entry.detail, "reason", intent.reason);
  put_text(entry.detail, "approved_by", intent.approved_by);
  put_text(entry.detail, "before", intent.before);
  if (intent.body.bytes > 0) {
    entry.detail.set("body", Value::map().set("bytes", intent.body.bytes).set("sha256", intent.body.sha256));
  }
  if (Value members = members_of(intent); !members.empty()) entry.detail.set("members", std::move(members));
  return entry;
}

oob::JournalEntry journal_entry(const AuditIntent& intent, const AuditOutcome& outcome, const std::string& request) {
  oob::JournalEntry entry = entry_of(oob::Phase::outcome, intent.operation, intent.object, request);
  put_source(entry.detail, intent.source);
  entry.detail.set("result", result_of(outcome.status)).set("status", outcome.status);
  put_text(entry.detail, "message", outcome.message);
  put_text(entry.detail, "after", outcome.after);
  if (!outcome.evidence.empty()) entry.detail.set("evidence", evidence_of(outcome.evidence));
  return entry;
}

oob::JournalEntry journal_entry(const AuditNote& note, const std::string& request) {
  oob::JournalEntry entry = entry_of(oob::Phase::note, note.operation, note.object, request);
  put_source(entry.detail, note.source);
  put_text(entry.detail, "reason", note.reason);
  if (!note.evidence.empty()) entry.detail.set("evidence", evidence_of(note.evidence));
  return entry;
}

AuditRecord audit_record(const oob::JournalEntry& entry, std::uint64_t base) {
  AuditRecord record;
  record.number = base + entry.number;
  record.time = entry.time;
  record.phase = oob::to_text(entry.phase);
  record.request = entry.operation;
  record.operation = entry.verb;
  record.object = entry.device;
  record.hash = entry.hash;
  const Value& detail = entry.detail;
  record.actor = text_member(detail, "actor");
  record.method = text_member(detail, "method");
  record.credential = text_member(detail, "credential");
  record.address = text_member(detail, "address");
  record.request_id = text_member(detail, "request_id");
  record.reason = text_member(detail, "reason");
  record.approved_by = text_member(detail, "approved_by");
  record.before = text_member(detail, "before");
  record.after = text_member(detail, "after");
  record.status = number_member(detail, "status");
  record.message = text_member(detail, "message");
  const Value body = map_member(detail, "body");
  record.body_sha256 = text_member(body, "sha256");
  record.body_bytes = number_member(body, "bytes");
  record.members = map_member(detail, "members");
  record.evidence = map_member(detail, "evidence");
  return record;
}

}  // namespace weft::access
