// File descriptors that close themselves, and their common operations: open and write with retries on EINTR, write all
// bytes, describe errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace weft {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  // Transfers ownership of the descriptor to the caller.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  // A write error may only be reported on close (such as an exceeded quota over NFS): returns false then, with errno.
  bool close();

 private:
  int fd_ = -1;
};

// `code` is errno, `what` a verb: "cannot read: Permission denied".
[[nodiscard]] Error file_error(int code, std::string_view what, const std::string& path);

// `flags` and `mode` as in open(2); never inherited by child processes. Not ok() on failure, with errno.
[[nodiscard]] FileDescriptor open_descriptor(const std::string& path, int flags, unsigned mode = 0);

struct Written {
  std::size_t bytes = 0;
  int error = 0;  // errno of the failed write, 0 if everything was written
};
[[nodiscard]] Written write_all(int fd, std::string_view bytes);

}  // namespace weft
