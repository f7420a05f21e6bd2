#include "oob/power/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weft::oob {
namespace {

Error failed(const std::string& path, int code) {
  return {ErrorCode::unavailable, std::generic_category().message(code), path};
}

// Whether the path still refers to the opened file: the previous holder may have removed it in the meantime.
bool same_file(const std::string& path, int descriptor) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, bool wait) {
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW,
                                  0600);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (descriptor < 0) return failed(path, errno);
    int locked = 0;
    do {
      locked = ::flock(descriptor, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0) {
      const int code = errno;
      (void)::close(descriptor);
      if (code == EWOULDBLOCK) return Error{ErrorCode::conflict, "another process holds the lock", path};
      return failed(path, code);
    }
    if (same_file(path, descriptor)) return FileLock(path, descriptor);
    (void)::close(descriptor);
  }
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

void FileLock::release() {
  if (descriptor_ < 0) return;
  (void)::unlink(path_.c_str());
  (void)::close(std::exchange(descriptor_, -1));
}

}  // namespace weft::oob
