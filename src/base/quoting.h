// Quoting for JSON, YAML and shells: JSON strings with their escapes, when YAML needs quotes, and words of a POSIX
// shell command. Every writer of these formats uses these functions.
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

// One word of a POSIX shell command (sh, bash, zsh; fish has other rules). The shell reads it as the text byte for
// byte, including newlines and other control characters, which have no special meaning inside single quotes. NUL bytes
// are dropped because no program argument can contain one. For line-based formats, replace newlines before quoting.
//
// Bare if the text has only letters, digits and -_./:,+@%= and does not begin with '=' (zsh expands that); otherwise in
// single quotes: a b is 'a b', it's is 'it'\''s', the empty text is ''. A bare NAME=value is an argument unless it is
// the first word of a command.
[[nodiscard]] std::string shell_quote(std::string_view text);

// In single quotes even if the text needs none.
[[nodiscard]] std::string shell_quote_always(std::string_view text);

}  // namespace weft
