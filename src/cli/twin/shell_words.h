// Splits a text into words as a POSIX shell does: spaces separate, quotes and backslashes keep them. Nothing is
// expanded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::cli {

[[nodiscard]] Result<std::vector<std::string>> split_shell_words(std::string_view text);

}  // namespace weft::cli
