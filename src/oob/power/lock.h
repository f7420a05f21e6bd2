// A lock that dies with its process: tells an operation that still runs from one that died. Advisory (flock), on a file
// beside the journal.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace weft::oob {

class FileLock {
 public:
  FileLock() = default;  // holds nothing
  FileLock(FileLock&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { release(); }

  // Error conflict: another process, or another thread of this one, holds it. With `wait` it is waited for.
  [[nodiscard]] static Result<FileLock> take(const std::string& path, bool wait);
  [[nodiscard]] bool held() const { return descriptor_ >= 0; }
  // Removes the file too.
  void release();

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace weft::oob
