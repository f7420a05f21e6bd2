// Reads the log of a task, which the engine writes and rotates (PATH, PATH.1, PATH.2, ...). A position names a file by
// its inode, so that a reader continues where it was although the file was rotated since.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::serve {

struct LogPosition {
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
};
[[nodiscard]] std::string to_text(const LogPosition& position);  // "INODE:OFFSET"
[[nodiscard]] std::optional<LogPosition> parse_log_position(std::string_view text);

struct LogPiece {
  std::string text;
  LogPosition end;       // continue here
  bool skipped = false;  // bytes before it are gone: rotated away, or beyond the limit
};

// What follows `after`, at most `limit` bytes; without a position, the last `limit` bytes of all files. `not_found` if
// there is no log.
[[nodiscard]] Result<LogPiece> read_task_log(const std::string& path, const std::optional<LogPosition>& after,
                                             std::size_t limit);

}  // namespace weft::serve
