#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/file_descriptor.h"
#include "base/folder.h"

namespace weft {
namespace {

constexpr mode_t kMode = 0644;  // less the umask
constexpr mode_t kModeBits = 0777;
constexpr int kMaxNames = 100;

Error bad_path(const char* why, const std::string& path) { return {ErrorCode::invalid_input, why, path}; }

Result<std::string> read_all(int fd, const std::string& shown, std::size_t limit, std::size_t expected) {
  constexpr std::size_t kChunk = std::size_t{1} << 16U;  // if the size is unknown: pipes, /proc
  std::string text;
  std::size_t used = 0;
  // One byte more than allowed or expected, to detect the end of the file without resizing again.
  text.resize(std::min(limit, expected > 0 ? expected : kChunk) + 1);
  while (true) {
    const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, "read", shown);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) return bad_path(fmt::format("is larger than {} bytes", limit).c_str(), shown);
    if (used == text.size()) text.resize(std::min(limit, used * 2) + 1);
  }
  text.resize(used);
  return text;
}

// The file to replace: the target of a symbolic link, so that the link is kept.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Its length does not depend on the target's name, so that names of the maximum length can be written.
std::string temporary_name(const std::string& directory) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}/.weft-{}-{}.tmp", directory, ::getpid(), counter.fetch_add(1));
}

Status fill_and_rename(FileDescriptor& file, const std::string& temporary, const std::string& target,
                       std::string_view content) {
  if (const Written written = write_all(file.get(), content); written.error != 0)
    return file_error(written.error, "write", target);
  if (::fsync(file.get()) != 0) return file_error(errno, "sync", target);
  if (!file.close()) return file_error(errno, "write", target);
  if (::rename(temporary.c_str(), target.c_str()) != 0) return file_error(errno, "replace", target);
  return {};
}

// Best effort: the rename has happened; syncing the directory makes it survive a power failure.
void sync_directory(const std::string& directory) {
  const FileDescriptor fd = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
  if (fd.ok()) ::fsync(fd.get());
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input", limit, 0);
  if (path.find('\0') != std::string::npos) return bad_path("is not a file name", "path");
  const FileDescriptor file = open_descriptor(path, O_RDONLY);
  if (!file.ok()) return file_error(errno, "read", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_error(errno, "read", path);
  if (S_ISDIR(info.st_mode)) return bad_path("is a directory", path);
  const std::size_t size = info.st_size > 0 ? static_cast<std::size_t>(info.st_size) : 0;
  if (S_ISREG(info.st_mode) && size > limit) {
    return bad_path(fmt::format("is larger than {} bytes", limit).c_str(), path);
  }
  return read_all(file.get(), path, limit, size);
}

Status write_file(const std::string& path, std::string_view content) {
  if (path.empty() || path.find('\0') != std::string::npos) return bad_path("is not a file name", "path");
  const std::string target = resolved(path);
  struct stat info {};
  const bool replaces = ::stat(target.c_str(), &info) == 0;
  if (replaces) {
    if (S_ISDIR(info.st_mode)) return bad_path("is a directory", path);
    // A rename would replace, for example, /dev/null by a regular file.
    if (!S_ISREG(info.st_mode)) return bad_path("is not a regular file", path);
  }
  const std::string directory = directory_of(target);
  const SignalBlock signals;  // none ends the process while the temporary file exists
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    const std::string temporary = temporary_name(directory);
    FileDescriptor file = open_descriptor(temporary, O_WRONLY | O_CREAT | O_EXCL, kMode);
    if (!file.ok() && errno == EEXIST) continue;
    if (!file.ok()) return file_error(errno, "write", path);
    if (replaces) (void)::fchmod(file.get(), info.st_mode & kModeBits);
    Status status = fill_and_rename(file, temporary, target, content);
    if (status.ok()) {
      sync_directory(directory);
    } else {
      ::unlink(temporary.c_str());
    }
    return status;
  }
  return file_error(EEXIST, "write", path);
}

}  // namespace weft
