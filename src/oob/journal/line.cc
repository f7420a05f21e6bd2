#include "oob/journal/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/hash.h"
#include "base/json.h"

namespace weft::oob {
namespace {

constexpr std::string_view kHashKey = R"(, "hash": ")";
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kHashTail = kHashKey.size() + kHashDigits + 2;  // including "} after it
constexpr std::array<std::string_view, 10> kKeys = {"number", "time",   "who",    "operation", "phase",
                                                    "verb",   "device", "detail", "previous",  "hash"};

Error bad(std::string why) { return {ErrorCode::invalid_input, std::move(why), {}}; }

// JSON has no infinities and no NaN, and a BMC may send one.
Value finite(const Value& value) {
  if (value.is_list()) {
    Value::List items;
    items.reserve(value.items().size());
    for (const Value& item : value.items()) items.push_back(finite(item));
    return items;
  }
  if (value.is_map()) {
    Value::Map entries;
    entries.reserve(value.entries().size());
    for (const Value::Entry& entry : value.entries()) entries.push_back({entry.key, finite(entry.value)});
    return entries;
  }
  const double* number = std::get_if<double>(&value.state());
  return number != nullptr && !std::isfinite(*number) ? Value() : value;
}

Value scalar_value(const YamlNode& node) {
  if (node.quoted) return node.scalar;
  if (node.scalar == "true") return true;
  if (node.scalar == "false") return false;
  std::int64_t whole = 0;
  const char* end = node.scalar.data() + node.scalar.size();
  if (const auto read = std::from_chars(node.scalar.data(), end, whole); read.ec == std::errc() && read.ptr == end)
    return whole;
  double number = 0;
  if (const auto read = std::from_chars(node.scalar.data(), end, number); read.ec == std::errc() && read.ptr == end)
    return number;
  return node.scalar;
}

Value value_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return {};
    case YamlNode::Kind::scalar:
      return scalar_value(node);
    case YamlNode::Kind::sequence: {
      Value::List items;
      items.reserve(node.items.size());
      for (const YamlNode& item : node.items) items.push_back(value_of(item));
      return items;
    }
    case YamlNode::Kind::mapping: {
      Value::Map entries;
      entries.reserve(node.entries.size());
      for (const YamlEntry& entry : node.entries) entries.push_back({entry.key, value_of(entry.value)});
      return entries;
    }
  }
  return {};
}

// Fields 1 to 6, 8 and 9 are strings; "detail" is a map.
Status check_shape(const YamlNode& root) {
  if (root.kind != YamlNode::Kind::mapping || root.entries.size() != kKeys.size()) return bad("is not an entry");
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const YamlEntry& field = root.entries[i];
    if (field.key != kKeys[i]) return bad(fmt::format("has another key where `{}` was due", kKeys[i]));
    const bool text = field.value.kind == YamlNode::Kind::scalar && field.value.quoted;
    const bool fits = i == 0   ? field.value.kind == YamlNode::Kind::scalar && !field.value.quoted
                      : i == 7 ? field.value.kind == YamlNode::Kind::mapping
                               : text;
    if (!fits) return bad(fmt::format("`{}` has the wrong type", kKeys[i]));
  }
  return {};
}

}  // namespace

const std::string& first_previous() {
  static const std::string zeros(kHashDigits, '0');
  return zeros;
}

bool is_hash_text(std::string_view text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string line_middle(const JournalEntry& entry) {
  const Value detail = entry.detail.is_map() ? finite(entry.detail) : Value(Value::Map());
  // The braces are dropped: the fields become part of the line's object.
  Value fields = Value::map();
  fields.put("who", entry.who)
      .put("operation", entry.operation)
      .put("phase", to_text(entry.phase))
      .put("verb", entry.verb)
      .put("device", entry.device)
      .put("detail", entry.detail.is_map() || entry.detail.is_null()
                         ? detail
                         : Value(Value::Map{Value::Entry{"value", finite(entry.detail)}}));
  const std::string text = write_json_line(fields);
  return text.substr(1, text.size() - 2);
}

std::string line_opening(std::uint64_t number) { return fmt::format(R"({{"number": {}, "time": ")", number); }

std::string make_line(std::uint64_t number, std::string_view time, std::string_view middle, std::string_view previous,
                      std::string& hash) {
  std::string line = fmt::format(R"({}{}", {}, "previous": "{}"}})", line_opening(number), time, middle, previous);
  hash = sha256(fmt::format("{}{}", previous, line));
  line.pop_back();
  line += fmt::format(R"({}{}"}})", kHashKey, hash);
  return line;
}

bool looks_whole(std::string_view line, std::string& claimed_hash) {
  if (line.size() < kHashTail || !line.starts_with(R"({"number": )") || !line.ends_with("\"}")) return false;
  const std::string_view tail = line.substr(line.size() - kHashTail);
  if (!tail.starts_with(kHashKey) || !is_hash_text(tail.substr(kHashKey.size(), kHashDigits))) return false;
  claimed_hash = tail.substr(kHashKey.size(), kHashDigits);
  return true;
}

Result<JournalLine> parse_line(std::string_view line) {
  JournalLine read;
  if (line.size() > kMaxJournalLine) return bad("is longer than an entry can be");
  if (!looks_whole(line, read.entry.hash)) return bad("is not an entry");
  Diagnostics diagnostics;
  const std::optional<YamlNode> root =
      parse_json_text(line, {}, diagnostics, {.bytes = kMaxJournalLine, .nodes = 100'000, .depth = 64});
  if (!root) return bad("is not JSON");
  if (diagnostics.warning_count() > 0) return bad("has a key twice");
  if (Status shape = check_shape(*root); !shape.ok()) return shape.error();
  const auto text = [&](std::size_t i) -> const std::string& { return root->entries[i].value.scalar; };
  JournalEntry& entry = read.entry;
  const char* end = text(0).data() + text(0).size();
  const auto number = std::from_chars(text(0).data(), end, entry.number);
  if (number.ec != std::errc() || number.ptr != end || entry.number == 0) return bad("has no number");
  if (!line.starts_with(line_opening(entry.number))) return bad("does not begin as an entry does");
  const std::optional<Phase> phase = phase_named(text(4));
  if (!phase) return bad("has a phase that does not exist");
  if (!is_hash_text(text(8))) return bad("has no hash of the line before");
  entry.time = text(1);
  entry.who = text(2);
  entry.operation = text(3);
  entry.phase = *phase;
  entry.verb = text(5);
  entry.device = text(6);
  entry.detail = value_of(root->entries[7].value);
  read.previous = text(8);
  const std::string_view body = line.substr(0, line.size() - kHashTail);
  if (sha256(fmt::format("{}{}}}", read.previous, body)) != entry.hash)
    return bad("its hash does not match its content");
  return read;
}

}  // namespace weft::oob
