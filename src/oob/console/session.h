// A persistent console session to one device: if the session is lost (the BMC restarts, another user takes the console
// over), it is reopened with backoff, and a note reports it. Used by one thread. No logging: see console/log.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oob/bmc/fleet.h"
#include "oob/console/log.h"

namespace weft::oob {

inline constexpr std::string_view kConsoleVerb = "console";

class ConsoleSession {
 public:
  // `note` is called with a sentence when the console disconnects or reconnects.
  ConsoleSession(Fleet& fleet, std::uint32_t target, std::function<void(const std::string&)> note)
      : fleet_(fleet), target_(target), note_(std::move(note)) {}

  // One attempt.
  [[nodiscard]] Status open();
  // What arrived within `wait`; empty if nothing did or the console is disconnected. Never an error: it reconnects
  // until the clock is stopped.
  [[nodiscard]] std::string read(Duration wait);
  // unavailable while the console is disconnected.
  [[nodiscard]] Status write(std::string_view text);
  [[nodiscard]] bool is_open() const { return stream_ != nullptr; }
  [[nodiscard]] std::uint32_t reopened() const { return reopened_; }

 private:
  void lose(const Error& error);
  Fleet& fleet_;
  std::uint32_t target_;
  std::function<void(const std::string&)> note_;
  std::unique_ptr<Bmc> bmc_;
  std::unique_ptr<ConsoleStream> stream_;  // destroyed before the session it belongs to
  Duration pause_;
  Duration next_try_;
  std::uint32_t reopened_ = 0;
  std::string last_problem_;
};

// Journal entries for console access: begin and end, with the number of bytes transferred.
class ConsoleAccess {
 public:
  ConsoleAccess(Journal& journal, std::string device);
  ConsoleAccess(const ConsoleAccess&) = delete;
  ConsoleAccess& operator=(const ConsoleAccess&) = delete;
  ~ConsoleAccess();
  // Must be on disk before access to the console is given.
  [[nodiscard]] Status begin(std::string_view mode, std::string_view why);
  void count(std::uint64_t read, std::uint64_t written) {
    read_ += read;
    written_ += written;
  }

 private:
  Journal& journal_;
  std::string device_;
  std::string operation_;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;
  bool begun_ = false;
};

struct ConsoleCapture {
  bool seen = false;           // the pattern was seen; false also when there was none
  std::string line{};          // the matching line
  std::uint64_t bytes = 0;     // received
  std::uint32_t reopened = 0;  // number of reconnects
  Duration took{};
  std::vector<std::string> tail{};  // the last lines of the log, at most 25
};

// Reads a console into its log until the pattern is seen (regular expression; empty: none), the time limit expires
// (zero: no limit) or the clock is stopped. An error if the pattern is invalid, or if the console could not be opened
// within the limit.
[[nodiscard]] Result<ConsoleCapture> capture_console(Fleet& fleet, std::uint32_t target, Duration limit,
                                                     const std::string& until_regex, ConsoleLog& log);

}  // namespace weft::oob
