// Wildcard patterns with * and ?, as in shell globs.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

enum class LetterCase : std::uint8_t { matters, ignored };  // of ASCII letters

// Whether the pattern matches all of `text`: * matches any number of bytes, ? exactly one.
[[nodiscard]] bool wildcard_match(std::string_view pattern, std::string_view text,
                                  LetterCase letters = LetterCase::matters);

}  // namespace weft
