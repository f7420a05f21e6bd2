// Reads files whose content or integrity matters for security: only a regular file of root's or of the current user,
// with a mode that keeps others out, and not through a symbolic link that another user could have placed.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace weft::access {

enum class Others {
  nothing,  // group and others may neither read nor write: secrets
  may_read  // they may not write: configuration
};

[[nodiscard]] Result<std::string> read_private_file(const std::string& path, Others others, std::size_t max_bytes);

}  // namespace weft::access
