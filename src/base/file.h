// Reading and writing whole files. A write either replaces the file completely or leaves it untouched.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// Reads a regular file (or standard input for "-"). Rejects directories and files of more than `limit` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit = 256U << 20U);
// Writes to a temporary file in the same directory, syncs it, and renames it to `path`.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content);

}  // namespace weft
