#include "etcd/messages.h"

#include <fmt/format.h>

#include <charconv>
#include <initializer_list>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"
#include "oob/redfish/json.h"

namespace weft::etcd {
namespace {

// A range of 10,000 keys has about 70,000 values.
constexpr oob::JsonLimits kLimits{1'000'000, 12};
constexpr std::size_t kMaxShown = 300;

Error invalid(std::string_view what) {
  return {ErrorCode::invalid_input, fmt::format("invalid response of etcd: {}", what), {}};
}

// Reads members of a JSON object; the first that is wrong is remembered.
class FieldReader {
 public:
  explicit FieldReader(const Value& value) : value_(value) {
    if (!value.is_map()) wrong_ = "not an object";
  }
  [[nodiscard]] bool ok() const { return wrong_.empty(); }
  [[nodiscard]] Error error() const { return invalid(wrong_); }
  void fail(std::string_view what) {
    if (wrong_.empty()) wrong_ = what;
  }
  // proto3's JSON: int64 as a string, and numbers are accepted too.
  [[nodiscard]] std::int64_t number(std::string_view key) {
    const Value* found = find(key);
    if (found == nullptr) return 0;
    if (const auto* number = std::get_if<std::int64_t>(&found->state())) return *number;
    std::int64_t parsed = 0;
    if (found->is_text()) {
      const std::string& text = found->text();
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      if (code == std::errc() && end == text.data() + text.size() && !text.empty()) return parsed;
    }
    fail(fmt::format("{} is not a number", key));
    return 0;
  }
  [[nodiscard]] bool truth(std::string_view key) {
    const Value* found = find(key);
    if (found == nullptr) return false;
    if (const bool* truth = std::get_if<bool>(&found->state())) return *truth;
    fail(fmt::format("{} is not true or false", key));
    return false;
  }
  [[nodiscard]] std::string text(std::string_view key) {
    const Value* found = find(key);
    if (found == nullptr) return {};
    if (found->is_text()) return found->text();
    fail(fmt::format("{} is not a string", key));
    return {};
  }
  [[nodiscard]] std::string bytes(std::string_view key) {
    std::optional<std::string> decoded = decode_base64(text(key));
    if (decoded) return std::move(*decoded);
    fail(fmt::format("{} is not base64", key));
    return {};
  }
  [[nodiscard]] const Value::List& items(std::string_view key) {
    static const Value::List kNone;
    const Value* found = find(key);
    if (found == nullptr) return kNone;
    if (found->is_list()) return found->items();
    fail(fmt::format("{} is not a list", key));
    return kNone;
  }
  // Null: absent.
  [[nodiscard]] const Value* object(std::string_view key) {
    const Value* found = find(key);
    if (found != nullptr && !found->is_map()) fail(fmt::format("{} is not an object", key));
    return found != nullptr && found->is_map() ? found : nullptr;
  }

 private:
  [[nodiscard]] const Value* find(std::string_view key) const {
    const Value* found = value_.is_map() ? value_.find(key) : nullptr;
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  const Value& value_;
  std::string wrong_;
};

Result<KeyValue> read_kv(const Value& value) {
  FieldReader fields(value);
  KeyValue kv;
  kv.key = fields.bytes("key");
  kv.value = fields.bytes("value");
  kv.create_revision = fields.number("create_revision");
  kv.mod_revision = fields.number("mod_revision");
  kv.version = fields.number("version");
  kv.lease = fields.number("lease");
  if (fields.ok() && (kv.mod_revision <= 0 || kv.key.empty())) fields.fail("a key without a name or a revision");
  if (!fields.ok()) return fields.error();
  return kv;
}

// Every answer has one; without it something else answers.
Result<Revision> read_header(FieldReader& fields) {
  const Value* header = fields.object("header");
  if (header == nullptr) return invalid("no header");
  FieldReader inner(*header);
  const Revision revision = inner.number("revision");
  if (!inner.ok()) return inner.error();
  return revision;
}

Result<RangeReply> read_range(const Value& value, bool needs_header) {
  FieldReader fields(value);
  RangeReply reply;
  if (needs_header) {
    const Result<Revision> revision = read_header(fields);
    if (!revision.ok()) return revision.error();
    if (*revision <= 0) return invalid("no revision");
    reply.revision = *revision;
  }
  reply.more = fields.truth("more");
  const Value::List& items = fields.items("kvs");
  reply.kvs.reserve(items.size());
  for (const Value& item : items) {
    Result<KeyValue> kv = read_kv(item);
    if (!kv.ok()) return kv.error();
    reply.kvs.push_back(std::move(*kv));
  }
  if (!fields.ok()) return fields.error();
  return reply;
}

// A stream's line has its message under "result", or an error.
Result<Value> read_stream_line(std::string_view line) {
  Result<Value> value = oob::read_json_reply(line, kLimits);
  if (!value.ok()) return invalid(value.error().message);
  FieldReader fields(*value);
  if (const Value* error = fields.object("error"); error != nullptr) {
    FieldReader inner(*error);
    return Error{ErrorCode::timeout, printable(inner.text("message"), kMaxShown), {}};
  }
  const Value* result = fields.object("result");
  if (result == nullptr) return invalid("a stream without a result");
  return *result;
}

std::string write_operation(const Operation& operation) {
  const std::string key = encode_base64(operation.key);
  const std::string end =
      operation.range_end.empty() ? "" : fmt::format(R"(,"range_end":"{}")", encode_base64(operation.range_end));
  switch (operation.kind) {
    case Operation::Kind::put:
      return fmt::format(R"({{"request_put":{{"key":"{}","value":"{}","lease":"{}"}}}})", key,
                         encode_base64(operation.value), operation.lease);
    case Operation::Kind::remove:
      return fmt::format(R"({{"request_delete_range":{{"key":"{}"{}}}}})", key, end);
    case Operation::Kind::range:
      break;
  }
  return fmt::format(R"({{"request_range":{{"key":"{}"{}}}}})", key, end);
}

std::string write_operations(const std::vector<Operation>& operations) {
  std::string text;
  for (const Operation& operation : operations) text += (text.empty() ? "" : ",") + write_operation(operation);
  return text;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (contains(text, part)) return true;
  }
  return false;
}

}  // namespace

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // all keys
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string write_range(const RangeRequest& request) {
  std::string body = fmt::format(R"({{"key":"{}")", encode_base64(request.key));
  if (!request.range_end.empty()) body += fmt::format(R"(,"range_end":"{}")", encode_base64(request.range_end));
  if (request.limit > 0) body += fmt::format(R"(,"limit":"{}")", request.limit);
  if (request.revision > 0) body += fmt::format(R"(,"revision":"{}")", request.revision);
  if (request.serializable) body += R"(,"serializable":true)";
  if (request.order == Order::descending) body += R"(,"sort_order":"DESCEND","sort_target":"KEY")";
  return body + "}";
}

std::string write_txn(const TxnRequest& request) {
  std::string compares;
  for (const Compare& compare : request.compares) {
    const bool created = compare.target == Compare::Target::create_revision;
    compares += fmt::format(R"({}{{"target":"{}","result":"EQUAL","key":"{}","{}":"{}"}})", compares.empty() ? "" : ",",
                            created ? "CREATE" : "MOD", encode_base64(compare.key),
                            created ? "create_revision" : "mod_revision", compare.revision);
  }
  return fmt::format(R"({{"compare":[{}],"success":[{}],"failure":[{}]}})", compares, write_operations(request.success),
                     write_operations(request.failure));
}

std::string write_compact(Revision revision) { return fmt::format(R"({{"revision":"{}"}})", revision); }
std::string write_grant(std::int64_t ttl) { return fmt::format(R"({{"TTL":"{}"}})", ttl); }
std::string write_lease(LeaseId id) { return fmt::format(R"({{"ID":"{}"}})", id); }

std::string write_watch(const WatchRequest& request) {
  std::string body = fmt::format(R"({{"create_request":{{"key":"{}")", encode_base64(request.key));
  if (!request.range_end.empty()) body += fmt::format(R"(,"range_end":"{}")", encode_base64(request.range_end));
  if (request.start > 0) body += fmt::format(R"(,"start_revision":"{}")", request.start);
  return body + "}}";
}

std::string write_login(std::string_view user, std::string_view password) {
  return write_json_line(Value::map().set("name", user).set("password", password));
}

Result<RangeReply> parse_range(std::string_view body) {
  const Result<Value> value = oob::read_json_reply(body, kLimits);
  return value.ok() ? read_range(*value, true) : Result<RangeReply>(invalid(value.error().message));
}

Result<TxnReply> parse_txn(std::string_view body) {
  const Result<Value> value = oob::read_json_reply(body, kLimits);
  if (!value.ok()) return invalid(value.error().message);
  FieldReader fields(*value);
  const Result<Revision> revision = read_header(fields);
  if (!revision.ok()) return revision.error();
  if (*revision <= 0) return invalid("no revision");
  TxnReply reply{*revision, fields.truth("succeeded"), {}};
  for (const Value& response : fields.items("responses")) {
    FieldReader inner(response);
    const Value* range = inner.object("response_range");
    if (!inner.ok()) return inner.error();
    if (range == nullptr) continue;
    Result<RangeReply> parsed = read_range(*range, false);
    if (!parsed.ok()) return parsed.error();
    parsed->revision = reply.revision;
    reply.ranges.push_back(std::move(*parsed));
  }
  if (!fields.ok()) return fields.error();
  return reply;
}

Result<LeaseReply> parse_grant(std::string_view body) {
  const Result<Value> value = oob::read_json_reply(body, kLimits);
  if (!value.ok()) return invalid(value.error().message);
  FieldReader fields(*value);
  const LeaseReply reply{fields.number("ID"), fields.number("TTL")};
  if (!fields.ok()) return fields.error();
  if (reply.id == 0 || reply.ttl <= 0) return invalid("a lease without an ID or a TTL");
  return reply;
}

Result<LeaseReply> parse_keep_alive(std::string_view body) {
  const Result<Value> result = read_stream_line(body.substr(0, body.find('\n')));
  if (!result.ok()) return result.error();
  FieldReader fields(*result);
  const LeaseReply reply{fields.number("ID"), fields.number("TTL")};
  if (!fields.ok()) return fields.error();
  return reply;
}

Result<WatchReply> parse_watch(std::string_view line) {
  const Result<Value> result = read_stream_line(line);
  if (!result.ok()) return result.error();
  FieldReader fields(*result);
  const Result<Revision> revision = read_header(fields);
  if (!revision.ok()) return revision.error();
  WatchReply reply;
  reply.revision = *revision;
  reply.created = fields.truth("created");
  reply.canceled = fields.truth("canceled");
  reply.compact_revision = fields.number("compact_revision");
  reply.reason = printable(fields.text("cancel_reason"), kMaxShown);
  for (const Value& item : fields.items("events")) {
    FieldReader event(item);
    const std::string type = event.text("type");
    const Value* kv = event.object("kv");
    if (!event.ok() || kv == nullptr || (!type.empty() && type != "PUT" && type != "DELETE"))
      return invalid("an event without a type or a key");
    Result<KeyValue> parsed = read_kv(*kv);
    if (!parsed.ok()) return parsed.error();
    reply.events.push_back({type == "DELETE", std::move(*parsed)});
  }
  if (!fields.ok()) return fields.error();
  return reply;
}

Result<std::string> parse_token(std::string_view body) {
  const Result<Value> value = oob::read_json_reply(body, kLimits);
  if (!value.ok()) return invalid(value.error().message);
  FieldReader fields(*value);
  std::string token = fields.text("token");
  // It becomes a header.
  for (const char c : token) {
    if (c <= ' ' || c > '~') fields.fail("the token has characters that a header cannot have");
  }
  if (fields.ok() && token.empty()) fields.fail("no token");
  if (!fields.ok()) return fields.error();
  return token;
}

Result<std::vector<Alarm>> parse_alarms(std::string_view body) {
  const Result<Value> value = oob::read_json_reply(body, kLimits);
  if (!value.ok()) return invalid(value.error().message);
  FieldReader fields(*value);
  std::vector<Alarm> alarms;
  for (const Value& item : fields.items("alarms")) {
    FieldReader inner(item);
    const std::string kind = inner.text("alarm");
    if (!inner.ok()) return inner.error();
    if (kind == "NOSPACE") alarms.push_back(Alarm::no_space);
    if (kind == "CORRUPT") alarms.push_back(Alarm::corrupt);
  }
  if (!fields.ok()) return fields.error();
  return alarms;
}

Failure parse_failure(int status, std::string_view body) {
  std::string message = fmt::format("HTTP status {}", status);
  // Not all of its refusals are JSON.
  if (const std::string_view plain = trim(body); !plain.empty() && plain.front() != '{')
    message += ": " + printable(plain, kMaxShown);
  std::int64_t code = 0;  // of gRPC
  if (const Result<Value> value = oob::read_json_reply(body, kLimits); value.ok() && value->is_map()) {
    FieldReader fields(*value);
    const std::string error = fields.text("error");
    const std::string text = error.empty() ? fields.text("message") : error;
    const std::int64_t number = fields.number("code");
    if (fields.ok() && !text.empty()) {
      message = printable(text, kMaxShown);
      code = number;
    }
  }
  Failure failure{{ErrorCode::timeout, message, {}}, false, false};
  failure.is_no_space = contains(message, "database space exceeded");
  failure.is_old_token =
      code == 16 || has_any(message, {"invalid auth token", "revision in header is old", "auth store is old"});
  if (failure.is_no_space || has_any(message, {"too many requests"})) {
    failure.error.code = ErrorCode::unavailable;
  } else if (failure.is_old_token || code == 7 ||
             has_any(message, {"authentication failed", "permission denied", "user name is empty"})) {
    failure.error.code = ErrorCode::refused;
  } else if (has_any(message, {"requested lease not found"})) {
    failure.error.code = ErrorCode::not_found;
  } else if (has_any(message, {"has been compacted"})) {
    failure.error.code = ErrorCode::conflict;
  } else if (status >= 400 && status < 500 && status != 408 && code != 1 && code != 4) {
    failure.error.code = ErrorCode::invalid_input;
  }
  return failure;
}

}  // namespace weft::etcd
