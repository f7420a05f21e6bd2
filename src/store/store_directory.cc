#include "store/store_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/file.h"
#include "base/text.h"

namespace weft::store {
namespace {

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// " (pid 123)", or nothing if the holder has not written it yet.
std::string describe_holder(const std::string& lock_path) {
  const Result<std::string> text = read_file(lock_path, 64);
  const std::string_view pid = text.ok() ? trim(*text) : std::string_view();
  if (pid.empty() || !std::all_of(pid.begin(), pid.end(), is_digit)) return {};
  return fmt::format(" (pid {})", pid);
}

}  // namespace

Result<std::optional<std::uint64_t>> file_size(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::optional<std::uint64_t>();
    return file_error(errno, "read", path);
  }
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::invalid_input, "is not a regular file", path};
  return std::optional(static_cast<std::uint64_t>(info.st_size));
}

Status make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return sync_directory(parent_of(path));
  if (errno != EEXIST) return file_error(errno, "create the directory", path);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return file_error(errno, "read", path);
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::invalid_input, "is not a directory", path};
  return {};
}

Status sync_directory(const std::string& path) {
  const FileDescriptor directory = open_descriptor(path, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return file_error(errno, "open", path);
  // Some file systems cannot sync a directory and return EINVAL.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) return file_error(errno, "sync", path);
  return {};
}

Result<FileDescriptor> lock_directory(const std::string& path) {
  const std::string lock_path = path + "/lock";
  FileDescriptor file = open_descriptor(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return file_error(errno, "open", lock_path);
  int locked = 0;
  do {
    locked = ::flock(file.get(), LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0 && errno == EWOULDBLOCK)
    return Error{
        ErrorCode::conflict, fmt::format("another weft serve{} is using {}", describe_holder(lock_path), path), {}};
  if (locked != 0) return file_error(errno, "lock", lock_path);
  // For the message above only; never read to decide whether the lock is held.
  if (::ftruncate(file.get(), 0) == 0) (void)write_all(file.get(), fmt::format("{}\n", ::getpid()));
  return file;
}

}  // namespace weft::store
