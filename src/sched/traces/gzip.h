// Decompresses gzip streams (RFC 1952) in memory, and reads files that may be compressed or plain. A stream that
// exceeds a limit, is truncated or has trailing data is rejected. There is no compression here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::sched {

// Whether the bytes begin with the gzip magic number.
[[nodiscard]] bool is_gzip(std::string_view data);
// Decompresses one stream of one or more members. Rejects results of more than `limit` bytes.
[[nodiscard]] Result<std::string> gunzip(std::string_view data, std::size_t limit);
// Reads a file (or standard input for "-") and decompresses it if it starts with the gzip magic number. `limit` applies
// to the file and to the decompressed text.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path, std::size_t limit = 256U << 20U);

}  // namespace weft::sched
