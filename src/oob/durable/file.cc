#include "oob/durable/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace weft::oob {
namespace {

constexpr unsigned kOwnerOnly = 0600;
constexpr unsigned kOwnerFolder = 0700;

}  // namespace

Result<FileDescriptor> open_file(const std::string& path, int flags, unsigned mode) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_input, "is not a file name", "path"};
  FileDescriptor file = open_descriptor(path, flags, mode);
  if (!file.ok()) return file_error(errno, "open", path);
  return file;
}

Result<struct stat> stat_of(const FileDescriptor& file, const std::string& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_error(errno, "look at", path);
  return info;
}

bool is_same_file(const struct stat& open, const std::string& path) {
  struct stat named {};
  return ::stat(path.c_str(), &named) == 0 && named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

Status lock(const FileDescriptor& file, LockKind kind, const std::string& path, Duration limit) {
  const int operation = kind == LockKind::exclusive ? LOCK_EX : LOCK_SH;
  const auto start = std::chrono::steady_clock::now();
  // flock() has no timeout, so it is polled: often at first, since locks are held briefly.
  auto pause = std::chrono::microseconds(100);
  for (;;) {
    if (::flock(file.get(), operation | LOCK_NB) == 0) return {};
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return file_error(errno, "lock", path);
    if (std::chrono::steady_clock::now() - start >= std::chrono::nanoseconds(limit.count()))
      return Error{ErrorCode::conflict, "another process holds its lock", path};
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5'000));
  }
}

void unlock(const FileDescriptor& file) {
  if (file.ok()) (void)::flock(file.get(), LOCK_UN);
}

Result<std::string> read_at(const FileDescriptor& file, std::uint64_t offset, std::size_t size,
                            const std::string& path) {
  std::string bytes(size, '\0');
  std::size_t used = 0;
  while (used < size) {
    const ssize_t got = ::pread(file.get(), bytes.data() + used, size - used, static_cast<off_t>(offset + used));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, "read", path);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  bytes.resize(used);
  return bytes;
}

Status sync_file(const FileDescriptor& file, const std::string& path) {
  while (::fdatasync(file.get()) != 0) {
    if (errno != EINTR) return file_error(errno, "sync", path);
  }
  return {};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const Result<FileDescriptor> opened = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (!opened.ok()) return opened.error();
  // Some file systems cannot sync a folder and return EINVAL: there is nothing more to do then.
  if (::fsync(opened->get()) != 0 && errno != EINVAL) return file_error(errno, "sync", folder);
  return {};
}

Status make_folders_above(const std::string& path) {
  const std::string folder = folder_of(path);
  for (std::size_t at = 0; at != std::string::npos;) {
    at = folder.find('/', at + 1);
    const std::string part = folder.substr(0, at);
    if (part.empty() || ::mkdir(part.c_str(), kOwnerFolder) == 0 || errno == EEXIST) continue;
    return file_error(errno, "make the folder", part);
  }
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return file_error(errno, "look at", folder);
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::invalid_input, "is not a folder", folder};
  return {};
}

Status replace_file(const std::string& path, std::string_view content) {
  // A fixed name, so the next write removes what a crash left behind (it may contain secrets).
  const std::string aside = path + ".tmp";
  (void)::unlink(aside.c_str());
  Status status;
  {
    const Result<FileDescriptor> file = open_file(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kOwnerOnly);
    if (!file.ok()) return file.error();
    const Written written = write_all(file->get(), content);
    if (written.error != 0) {
      status = file_error(written.error, "write", path);
    } else {
      status = sync_file(file.value(), path);
    }
  }
  if (status.ok() && ::rename(aside.c_str(), path.c_str()) != 0) status = file_error(errno, "replace", path);
  if (!status.ok()) {
    (void)::unlink(aside.c_str());
    return status;
  }
  return sync_folder_of(path);
}

}  // namespace weft::oob
