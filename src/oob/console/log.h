// What a console said, for ever: FOLDER/DEVICE.log, lines with their time, only appended to, the owner's alone. Whoever
// has the log open holds the console: a second one is refused (conflict) until the first is gone, by whatever death.
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
  std::size_t rotate_bytes = 64U << 20U;  // beyond this the file becomes DEVICE.log.1, that one .2, ...
  int keep = 8;                           // rotated files; older ones go
};

class ConsoleLog {
 public:
  // `folder`: STATE/consoles; made when it is not there. A line at the top and one at the end say who and why.
  [[nodiscard]] static Result<std::unique_ptr<ConsoleLog>> open(const std::string& folder, const std::string& device,
                                                                std::string who, const std::string& why, Clock& clock,
                                                                const ConsoleLogOptions& options = {});
  ConsoleLog(const ConsoleLog&) = delete;
  ConsoleLog& operator=(const ConsoleLog&) = delete;
  ~ConsoleLog();

  // Bytes as they come. An error says that the disk does not take them; the console goes on.
  Status append(std::string_view bytes);
  Status tick();   // gives out an unfinished line that waits for a second
  Status flush();  // at once
  Status note(std::string_view text);

  // The last lines of the log as they stand in it, those of earlier openings too.
  [[nodiscard]] std::vector<std::string> recent(std::size_t lines) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // from the console since it was opened

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
