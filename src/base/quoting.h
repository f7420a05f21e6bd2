// Quoting for JSON and YAML: JSON strings with their escapes, and when YAML needs quotes. Every writer of either format
// uses these functions.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// JSON string with its quotes; invalid UTF-8 bytes become U+FFFD. Escapes more than JSON requires (everything that is
// not printable), so that the result is also a YAML string.
[[nodiscard]] std::string json_quote(std::string_view text);
void append_json_quoted(std::string& out, std::string_view text);
// The same for passwords and other secrets: invalid bytes are kept, and the buffer is never reallocated, so no copy of
// the secret is left in memory.
[[nodiscard]] std::string json_quote_secret(std::string_view text);

// Whether a YAML 1.1 or 1.2 parser could read the plain text as a number.
[[nodiscard]] bool is_yaml_number(std::string_view text);
// Whether `text` can be written in YAML without quotes and parses back as the same text.
[[nodiscard]] bool is_plain_yaml_text(std::string_view text);
// Whether `text` is, in addition, unambiguous to people: words, paths, addresses and quantities in ASCII that begin
// with a letter, '/', '_' or, if it cannot be a number, a digit.
[[nodiscard]] bool is_simple_yaml_text(std::string_view text);
// `text`, quoted if necessary.
[[nodiscard]] std::string yaml_quote(std::string_view text);

}  // namespace weft
