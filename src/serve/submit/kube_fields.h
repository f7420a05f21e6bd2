// Fields of Kubernetes objects: every key of a mapping is read, known to have no effect here, or an error at its line.
// Internal to serve/submit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "serve/submit/draft.h"

namespace weft::serve {

enum class FieldUse : std::uint8_t { read, ignored, refused };

struct FieldRule {
  std::string_view key;
  FieldUse use = FieldUse::read;
  std::string_view reason = {};  // of a refusal
};

// Reports a node that is not a mapping, refused keys and unknown ones; false only for the first. `what` names the
// object.
bool check_fields(const SubmitContext& context, const YamlNode& node, std::string_view what,
                  std::span<const FieldRule> rules);

// Each reports a value of another type, and returns nullopt for it and for a missing node.
[[nodiscard]] std::optional<std::string> read_text(const SubmitContext& context, const YamlNode* node,
                                                   std::string_view what);
[[nodiscard]] std::optional<std::int64_t> read_integer(const SubmitContext& context, const YamlNode* node,
                                                       std::string_view what, std::int64_t low, std::int64_t high);
[[nodiscard]] std::optional<bool> read_boolean(const SubmitContext& context, const YamlNode* node,
                                               std::string_view what);
[[nodiscard]] std::vector<std::string> read_texts(const SubmitContext& context, const YamlNode* node,
                                                  std::string_view what);
// The items of a sequence; empty for a missing node, and after an error for anything else.
[[nodiscard]] std::span<const YamlNode> read_items(const SubmitContext& context, const YamlNode* node,
                                                   std::string_view what);
// The value at a key, or null; also null for a null value and for a node that is not a mapping.
[[nodiscard]] const YamlNode* field_of(const YamlNode* node, std::string_view key);

// "100", "500m", "1.5": thousandths. "64Gi", "1583Gi", "64G", "1e9": bytes.
[[nodiscard]] std::optional<std::int64_t> parse_kube_milli(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_kube_bytes(std::string_view text);

// A name as Kubernetes requires it: lower case, with '-' for other characters (RFC 1123).
[[nodiscard]] std::string to_dns_label(std::string_view name);

}  // namespace weft::serve
