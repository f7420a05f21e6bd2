#include "base/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weft {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = other.release();
  return *this;
}

bool FileDescriptor::close() { return fd_ < 0 || ::close(release()) == 0; }

Error file_error(int code, std::string_view what, const std::string& path) {
  const bool denied = code == EACCES || code == EPERM || code == EROFS;
  const ErrorCode kind = code == ENOENT ? ErrorCode::not_found : denied ? ErrorCode::refused : ErrorCode::unavailable;
  return {kind, fmt::format("cannot {}: {}", what, std::generic_category().message(code)), path};
}

FileDescriptor open_descriptor(const std::string& path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  } while (fd < 0 && errno == EINTR);
  return FileDescriptor(fd);
}

Written write_all(int fd, std::string_view bytes) {
  Written done;
  while (done.bytes < bytes.size()) {
    const ssize_t put = ::write(fd, bytes.data() + done.bytes, bytes.size() - done.bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      done.error = put < 0 ? errno : EIO;
      break;
    }
    done.bytes += static_cast<std::size_t>(put);
  }
  return done;
}

}  // namespace weft
