// Names with * and ? in them, as people write them for "several like this".
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

enum class LetterCase : std::uint8_t { matters, ignored };  // of ASCII letters

// Whether all of `text` is what the pattern stands for: * any number of bytes, ? one.
[[nodiscard]] bool wildcard_match(std::string_view pattern, std::string_view text,
                                  LetterCase letters = LetterCase::matters);

}  // namespace weft
