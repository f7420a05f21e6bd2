#include "access/jose/strict_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace weft::access {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr double kYear10000 = 253402300800.0;  // in seconds since 1970

Error wrong(std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; }

}  // namespace

Result<YamlNode> parse_strict_object(std::string_view text, std::string_view what, std::size_t max_bytes) {
  YamlLimits limits;
  limits.bytes = max_bytes;
  limits.nodes = max_bytes;
  limits.depth = kMaxDepth;
  Diagnostics diagnostics;
  std::optional<YamlNode> node = parse_json_text(text, {}, diagnostics, limits);
  // A repeated key is a warning there, because programs that only read a file take the last one.
  if (diagnostics.error_count() + diagnostics.warning_count() > 0) {
    return wrong(fmt::format("{}: {}", what, diagnostics.sorted().front().message));
  }
  if (!node || node->kind != YamlNode::Kind::mapping) return wrong(fmt::format("{} is not a JSON object", what));
  return std::move(*node);
}

bool is_text(const YamlNode& node) { return node.kind == YamlNode::Kind::scalar && node.quoted; }

Result<std::optional<std::string>> find_text(const YamlNode& object, std::string_view key) {
  const YamlNode* node = object.find(key);
  if (node == nullptr) return std::optional<std::string>();
  if (!is_text(*node)) return wrong(fmt::format("{} is not text", in_backticks(key)));
  return std::optional(node->scalar);
}

Result<std::string> require_text(const YamlNode& object, std::string_view key) {
  Result<std::optional<std::string>> text = find_text(object, key);
  if (!text.ok()) return text.error();
  if (!text->has_value() || (*text)->empty()) return wrong(fmt::format("{} is missing", in_backticks(key)));
  return std::move(**text);
}

Result<std::vector<std::string>> find_texts(const YamlNode& object, std::string_view key, std::size_t max_count) {
  const YamlNode* node = object.find(key);
  std::vector<std::string> out;
  if (node == nullptr) return out;
  if (is_text(*node)) {
    out.push_back(node->scalar);
    return out;
  }
  if (node->kind != YamlNode::Kind::sequence) {
    return wrong(fmt::format("{} is neither text nor a list of text", in_backticks(key)));
  }
  if (node->items.size() > max_count) {
    return wrong(fmt::format("{} has {} entries, more than {}", in_backticks(key), node->items.size(), max_count));
  }
  for (const YamlNode& item : node->items) {
    if (!is_text(item)) return wrong(fmt::format("{} has an entry that is not text", in_backticks(key)));
    out.push_back(item.scalar);
  }
  return out;
}

Result<std::optional<std::int64_t>> find_date(const YamlNode& object, std::string_view key) {
  const YamlNode* node = object.find(key);
  if (node == nullptr) return std::optional<std::int64_t>();
  double seconds = -1;
  if (node->kind == YamlNode::Kind::scalar && !node->quoted) {
    const char* end = node->scalar.data() + node->scalar.size();
    const auto [stop, error] = std::from_chars(node->scalar.data(), end, seconds);
    if (error != std::errc() || stop != end) seconds = -1;
  }
  if (!(seconds >= 0 && seconds < kYear10000)) {
    return wrong(fmt::format("{} is not a number of seconds from 1970 to 9999", in_backticks(key)));
  }
  return std::optional(static_cast<std::int64_t>(std::floor(seconds)));
}

Result<std::optional<bool>> find_truth(const YamlNode& object, std::string_view key) {
  const YamlNode* node = object.find(key);
  if (node == nullptr) return std::optional<bool>();
  if (node->kind == YamlNode::Kind::scalar && !node->quoted) {
    if (node->scalar == "true") return std::optional(true);
    if (node->scalar == "false") return std::optional(false);
  }
  return wrong(fmt::format("{} is neither true nor false", in_backticks(key)));
}

}  // namespace weft::access
