// Log file of a task, of limited size: PATH, PATH.1, PATH.2, ... Output that cannot be written (disk full) is dropped
// and counted, so that a job never waits for its log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace weft::world {

struct LogOptions {
  std::int64_t bytes = 64 << 20;  // per file
  std::int32_t files = 4;         // including the current one; at least 1
  std::uint32_t uid = 0;          // owner of the files
  std::uint32_t gid = 0;
  bool as_user = false;  // open them with the rights of the owner
};

class RotatingLog {
 public:
  RotatingLog(std::string path, const LogOptions& options) : path_(std::move(path)), options_(options) {}

  void append(std::string_view bytes);
  // Writes how much was dropped, if anything.
  void finish();
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  bool open();
  void rotate();
  void note_dropped();
  std::size_t write(std::string_view bytes);

  std::string path_;
  LogOptions options_;
  FileDescriptor file_;
  std::int64_t size_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t noted_ = 0;  // of those, how many the log says
};

}  // namespace weft::world
