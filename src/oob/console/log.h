// The persistent console log: FOLDER/DEVICE.log, timestamped lines, append-only, accessible by its owner only. The
// process with the open log holds the console: a second one gets `conflict` until the first exits or dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/console/log_text.h"
#include "oob/durable/clock.h"
#include "oob/durable/file.h"

namespace weft::oob {

struct ConsoleLogOptions {
  std::size_t rotate_bytes = 64U << 20U;  // above this size the file becomes DEVICE.log.1, that one .2, ...
  int keep = 8;                           // number of rotated files; older ones are deleted
};

class ConsoleLog {
 public:
  // `folder`: STATE/consoles; created if missing. A line at the top and one at the end record who and why.
  [[nodiscard]] static Result<std::unique_ptr<ConsoleLog>> open(const std::string& folder, const std::string& device,
                                                                std::string who, const std::string& why, Clock& clock,
                                                                const ConsoleLogOptions& options = {});
  ConsoleLog(const ConsoleLog&) = delete;
  ConsoleLog& operator=(const ConsoleLog&) = delete;
  ~ConsoleLog();

  // Bytes as received. An error means that they could not be written to disk; the console continues.
  Status append(std::string_view bytes);
  Status tick();   // writes out an unfinished line that is older than one second
  Status flush();  // immediately
  Status note(std::string_view text);

  // The last lines of the log as written, including those of earlier sessions.
  [[nodiscard]] std::vector<std::string> recent(std::size_t lines) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // received from the console since it was opened

  static constexpr std::size_t kMaxRecent = 1000;  // lines

 private:
  ConsoleLog(std::string folder, std::string device, std::string who, Clock& clock, const ConsoleLogOptions& options);
  Status open_log();
  Status rotate();
  void write_line(const std::string& line);
  Status take_problem();

  std::string folder_;
  std::string device_;
  std::string path_;
  std::string who_;
  Clock& clock_;
  ConsoleLogOptions options_;
  FileDescriptor lock_;
  FileDescriptor file_;
  std::size_t size_ = 0;
  std::uint64_t bytes_ = 0;
  std::deque<std::string> recent_;
  ConsoleLines lines_;
  Status problem_;
};

}  // namespace weft::oob
