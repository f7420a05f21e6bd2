// Quotes text as one word of a POSIX shell command (sh, bash, zsh). fish has other rules.
//
// The word that the shell reads is the text byte for byte, newlines and other control characters too: inside single
// quotes they mean nothing. NUL bytes are left out, as no shell and no argument of a program can hold one. A format
// that is read line by line has to replace newlines before it quotes.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Bare if the text has only letters, digits and -_./:,+@%= and does not begin with '=' (zsh expands that); otherwise in
// single quotes: a b is 'a b', it's is 'it'\''s', the empty text is ''. A bare NAME=value is an argument anywhere but
// as the first word of a command.
[[nodiscard]] std::string shell_quote(std::string_view text);

// In single quotes even where the text could stand bare.
[[nodiscard]] std::string shell_quote_always(std::string_view text);

}  // namespace weft
