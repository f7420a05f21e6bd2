// A lock released when its process exits: distinguishes a running operation from an interrupted one. Advisory (flock),
// on a file next to the journal.
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

  // Error conflict: held by another process or another thread of this one. With `wait`, blocks until it is released.
  [[nodiscard]] static Result<FileLock> take(const std::string& path, bool wait);
  [[nodiscard]] bool held() const { return descriptor_ >= 0; }
  // Also removes the file.
  void release();

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace weft::oob
