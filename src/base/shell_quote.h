// Quotes text as one word of a POSIX shell command (sh, bash, zsh). fish has other rules.
//
// The shell reads the word as the text byte for byte, including newlines and other control characters, which have no
// special meaning inside single quotes. NUL bytes are dropped because no program argument can contain one. For
// line-based formats, replace newlines before quoting.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Bare if the text has only letters, digits and -_./:,+@%= and does not begin with '=' (zsh expands that); otherwise in
// single quotes: a b is 'a b', it's is 'it'\''s', the empty text is ''. A bare NAME=value is an argument unless it is
// the first word of a command.
[[nodiscard]] std::string shell_quote(std::string_view text);

// In single quotes even if the text needs none.
[[nodiscard]] std::string shell_quote_always(std::string_view text);

}  // namespace weft
