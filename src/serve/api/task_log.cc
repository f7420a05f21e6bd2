#include "serve/api/task_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace weft::serve {
namespace {

constexpr int kMaxFiles = 100;

struct LogFile {
  FileDescriptor file;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
};

// Oldest first. The folder belongs to weft serve: names in it are not chosen by users. A rotation between two opens can
// show one file twice.
std::vector<LogFile> open_files(const std::string& path) {
  std::vector<LogFile> files;
  for (int number = 0; number < kMaxFiles; ++number) {
    const std::string name = number == 0 ? path : fmt::format("{}.{}", path, number);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): open() has no other form
    FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (!file.ok() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      if (number == 0) continue;  // rotated, and nothing written since
      break;
    }
    const auto inode = static_cast<std::uint64_t>(info.st_ino);
    if (!files.empty() && files.back().inode == inode) continue;
    files.push_back({std::move(file), inode, static_cast<std::uint64_t>(info.st_size)});
  }
  std::reverse(files.begin(), files.end());
  return files;
}

void append_from(const LogFile& log, std::uint64_t from, std::size_t limit, std::string& out, LogPosition& end) {
  end = {log.inode, from};
  while (end.offset < log.size && out.size() < limit) {
    const std::size_t want =
        std::min<std::uint64_t>(std::min<std::uint64_t>(log.size - end.offset, limit - out.size()), 64U << 10U);
    const std::size_t before = out.size();
    out.resize(before + want);
    const ssize_t got = ::pread(log.file.get(), out.data() + before, want, static_cast<off_t>(end.offset));
    out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) return;
    end.offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace

std::string to_text(const LogPosition& position) { return fmt::format("{}:{}", position.inode, position.offset); }

std::optional<LogPosition> parse_log_position(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2) return std::nullopt;
  LogPosition position;
  const auto read = [](std::string_view part, std::uint64_t& out) {
    const auto result = std::from_chars(part.data(), part.data() + part.size(), out);
    return result.ec == std::errc() && result.ptr == part.data() + part.size();
  };
  if (!read(parts[0], position.inode) || !read(parts[1], position.offset)) return std::nullopt;
  return position;
}

Result<LogPiece> read_task_log(const std::string& path, const std::optional<LogPosition>& after, std::size_t limit) {
  const std::vector<LogFile> files = open_files(path);
  if (files.empty()) return Error{ErrorCode::not_found, "there is no log", {}};
  std::size_t first = 0;
  std::uint64_t from = 0;
  LogPiece piece;
  const auto known =
      std::find_if(files.begin(), files.end(), [&](const LogFile& log) { return after && log.inode == after->inode; });
  if (known != files.end()) {
    first = static_cast<std::size_t>(known - files.begin());
    from = std::min(after->offset, known->size);
  } else if (after) {
    piece.skipped = true;  // rotated away: continue with the oldest
  } else {
    std::uint64_t left = limit;
    first = files.size() - 1;
    while (first > 0 && files[first].size < left) left -= files[first--].size;
    from = files[first].size - std::min(files[first].size, left);
    piece.skipped = first > 0 || from > 0;
  }
  for (std::size_t i = first; i < files.size() && piece.text.size() < limit; ++i) {
    append_from(files[i], i == first ? from : 0, limit, piece.text, piece.end);
  }
  return piece;
}

}  // namespace weft::serve
