// Strict JSON objects of tokens, keys and answers of the OIDC provider: two readers must never see different values, so
// a repeated member is an error, at any depth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/yaml.h"

namespace weft::access {

// `what` begins each message: "the token's header". Errors are `invalid_input`.
[[nodiscard]] Result<YamlNode> parse_strict_object(std::string_view text, std::string_view what, std::size_t max_bytes);

// Whether the node is JSON text, not a number or another value.
[[nodiscard]] bool is_text(const YamlNode& node);
// The member's text. Nullopt: there is no such member. An error: it is not text.
[[nodiscard]] Result<std::optional<std::string>> find_text(const YamlNode& object, std::string_view key);
// The member's text, which must be there and not be empty.
[[nodiscard]] Result<std::string> require_text(const YamlNode& object, std::string_view key);
// Text or a list of text, as `aud`; empty if there is no such member.
[[nodiscard]] Result<std::vector<std::string>> find_texts(const YamlNode& object, std::string_view key,
                                                          std::size_t max_count);
// A NumericDate (RFC 7519, section 2) in whole seconds since 1970, rounded down; from 1970 to 9999.
[[nodiscard]] Result<std::optional<std::int64_t>> find_date(const YamlNode& object, std::string_view key);
// `true` or `false`.
[[nodiscard]] Result<std::optional<bool>> find_truth(const YamlNode& object, std::string_view key);

}  // namespace weft::access
