// Identifier of a state directory: tells jobs and drains of this weft from those of another with a cluster of the same
// name. Made at the first start, kept in the directory.
#pragma once

#include <string>

#include "base/result.h"

namespace weft::world {

// Eight hexadecimal digits.
[[nodiscard]] Result<std::string> load_engine_instance(const std::string& state);

}  // namespace weft::world
