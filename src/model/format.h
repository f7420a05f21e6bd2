// Formats cluster files and job files for `weft fmt`: keys in the order of the schema tables, one style of
// indentation and quoting. Comments are kept, and the meaning: the result is read again and compared before it is
// returned.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft::model {

// The formatted text. A file that has errors, or that would lose something, is refused with the place.
[[nodiscard]] std::optional<std::string> format_file(Sources& sources, FileId file, Diagnostics& diagnostics);

}  // namespace weft::model
