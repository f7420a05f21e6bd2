// Gzip streams (RFC 1952) unpacked in memory, and files that may be packed or plain. For data that other programs
// publish packed; a stream that would grow beyond a limit, ends early or is followed by something else is refused.
// Nothing here packs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// Whether the bytes begin as a gzip stream does.
[[nodiscard]] bool is_gzip(std::string_view data);
// Unpacks one stream of one or more members. Refuses more than `limit` bytes of result.
[[nodiscard]] Result<std::string> gunzip(std::string_view data, std::size_t limit);
// Reads a file (or standard input for "-"), unpacked if its first bytes say that it is packed. `limit` holds for the
// file and for what comes out of it.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path, std::size_t limit = 256U << 20U);

}  // namespace weft
