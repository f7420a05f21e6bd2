#include "serve/submit/kube_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::int64_t kMaxQuantity = std::int64_t{1} << 53;

struct Suffix {
  std::string_view text;
  std::int64_t factor;
};
constexpr Suffix kSuffixes[] = {{"Ki", std::int64_t{1} << 10},
                                {"Mi", std::int64_t{1} << 20},
                                {"Gi", std::int64_t{1} << 30},
                                {"Ti", std::int64_t{1} << 40},
                                {"Pi", std::int64_t{1} << 50},
                                {"k", 1'000},
                                {"M", 1'000'000},
                                {"G", 1'000'000'000},
                                {"T", 1'000'000'000'000},
                                {"P", 1'000'000'000'000'000}};

// A decimal number times `factor`, rounded up; nullopt for anything else, and for what is too large.
std::optional<std::int64_t> scale_decimal(std::string_view text, std::int64_t factor) {
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view part = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  if (whole.empty() || whole.size() > 16 || part.size() > 9 || !std::all_of(whole.begin(), whole.end(), is_digit) ||
      !std::all_of(part.begin(), part.end(), is_digit)) {
    return std::nullopt;
  }
  std::int64_t divisor = 1;
  for (std::size_t i = 0; i < part.size(); ++i) divisor *= 10;
  const Result<std::int64_t> units = parse_integer(whole);
  const Result<std::int64_t> fraction = part.empty() ? Result<std::int64_t>(0) : parse_integer(part);
  if (!units.ok() || !fraction.ok()) return std::nullopt;
  const std::int64_t value = multiply_divide(*units, factor, 1);
  const std::int64_t rest = multiply_divide(*fraction, factor, divisor);
  const std::int64_t exact = multiply_divide(rest, divisor, factor);
  if (value > kMaxQuantity || rest > kMaxQuantity) return std::nullopt;
  return value + rest + (exact < *fraction ? 1 : 0);
}

}  // namespace

bool check_fields(const SubmitContext& context, const YamlNode& node, std::string_view what,
                  std::span<const FieldRule> rules) {
  if (node.kind != YamlNode::Kind::mapping) {
    context.error(node.place, fmt::format("{} is {}, not a mapping", what, describe_kind(node)));
    return false;
  }
  for (const YamlEntry& entry : node.entries) {
    const auto found =
        std::find_if(rules.begin(), rules.end(), [&](const FieldRule& rule) { return rule.key == entry.key; });
    if (found == rules.end()) {
      std::vector<std::string_view> keys;
      for (const FieldRule& rule : rules) keys.push_back(rule.key);
      context.error(entry.key_place, fmt::format("{} of {} is not supported", in_backticks(entry.key), what),
                    did_you_mean(entry.key, keys), entry.key.size());
    } else if (found->use == FieldUse::refused) {
      context.error(entry.key_place, fmt::format("`{}` of {} is not supported: {}", entry.key, what, found->reason), {},
                    entry.key.size());
    }
  }
  return true;
}

const YamlNode* field_of(const YamlNode* node, std::string_view key) {
  if (node == nullptr || node->kind != YamlNode::Kind::mapping) return nullptr;
  const YamlNode* value = node->find(key);
  return value == nullptr || value->kind == YamlNode::Kind::null ? nullptr : value;
}

std::optional<std::string> read_text(const SubmitContext& context, const YamlNode* node, std::string_view what) {
  if (node == nullptr) return std::nullopt;
  if (node->kind == YamlNode::Kind::scalar) return node->scalar;
  context.error(node->place, fmt::format("{} is {}, not text", what, describe_kind(*node)));
  return std::nullopt;
}

std::optional<std::int64_t> read_integer(const SubmitContext& context, const YamlNode* node, std::string_view what,
                                         std::int64_t low, std::int64_t high) {
  const std::optional<std::string> text = read_text(context, node, what);
  return text ? read_count(context, *text, what, low, high, node->place) : std::nullopt;
}

std::optional<bool> read_boolean(const SubmitContext& context, const YamlNode* node, std::string_view what) {
  const std::optional<std::string> text = read_text(context, node, what);
  if (!text) return std::nullopt;
  if (*text == "true" || *text == "false") return *text == "true";
  context.error(node->place, fmt::format("{} is {}, not true or false", what, in_backticks(*text)));
  return std::nullopt;
}

std::span<const YamlNode> read_items(const SubmitContext& context, const YamlNode* node, std::string_view what) {
  if (node == nullptr) return {};
  if (node->kind == YamlNode::Kind::sequence) return node->items;
  context.error(node->place, fmt::format("{} is {}, not a list", what, describe_kind(*node)));
  return {};
}

std::vector<std::string> read_texts(const SubmitContext& context, const YamlNode* node, std::string_view what) {
  std::vector<std::string> out;
  for (const YamlNode& item : read_items(context, node, what)) {
    if (item.kind == YamlNode::Kind::null) {
      context.error(item.place, fmt::format("an item of {} is empty", what), "quote it");
    } else if (const std::optional<std::string> text = read_text(context, &item, fmt::format("an item of {}", what))) {
      out.push_back(*text);
    }
  }
  return out;
}

std::optional<std::int64_t> parse_kube_milli(std::string_view text) {
  if (text.ends_with("m")) return scale_decimal(text.substr(0, text.size() - 1), 1);
  return scale_decimal(text, 1000);
}

std::optional<std::int64_t> parse_kube_bytes(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (text.ends_with(suffix.text))
      return scale_decimal(text.substr(0, text.size() - suffix.text.size()), suffix.factor);
  }
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent == std::string_view::npos) return scale_decimal(text, 1);
  const Result<std::int64_t> power = parse_integer(text.substr(exponent + 1));
  if (!power.ok() || *power < 0 || *power > 15) return std::nullopt;
  std::int64_t factor = 1;
  for (std::int64_t i = 0; i < *power; ++i) factor *= 10;
  return scale_decimal(text.substr(0, exponent), factor);
}

std::string to_dns_label(std::string_view name) {
  std::string out;
  for (const char c : name) out += is_letter_or_digit(c) ? to_lower(c) : '-';
  out.resize(std::min(out.size(), kMaxLabel));
  while (!out.empty() && out.back() == '-') out.pop_back();
  out.erase(0, std::min(out.find_first_not_of('-'), out.size()));
  return out;
}

}  // namespace weft::serve
