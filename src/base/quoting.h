// Texts inside JSON and YAML: JSON strings with their escapes, and when YAML needs quotes. Every writer of either
// format quotes with these.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// JSON string with its quotes; invalid UTF-8 bytes become U+FFFD. Escapes more than JSON asks for (whatever is not
// printable), which makes the result a YAML string as well.
[[nodiscard]] std::string json_quote(std::string_view text);
void append_json_quoted(std::string& out, std::string_view text);
// The same for passwords and the like: invalid bytes are kept, and the buffer never grows, so that no copy of the
// secret is left behind in memory.
[[nodiscard]] std::string json_quote_secret(std::string_view text);

// Whether some reader of YAML, 1.1 or 1.2, takes the plain text for a number.
[[nodiscard]] bool is_yaml_number(std::string_view text);
// Whether `text` can stand in YAML without quotes and be read back as the same text.
[[nodiscard]] bool is_plain_yaml_text(std::string_view text);
// Whether, besides, nobody would wonder: words, paths, addresses and quantities of ASCII that begin with a letter, '/',
// '_' or, where no number can be meant, a digit.
[[nodiscard]] bool is_simple_yaml_text(std::string_view text);
// `text`, quoted if it must be.
[[nodiscard]] std::string yaml_quote(std::string_view text);

}  // namespace weft
