// The console of one device, kept open: whatever ends the session (the BMC restarts, someone else takes the console),
// it is opened again with growing pauses, and a line says so. Used by one thread. Keeps no log: see console/log.h.
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
  // `note` is told in a sentence when the console goes and comes.
  ConsoleSession(Fleet& fleet, std::uint32_t target, std::function<void(const std::string&)> note)
      : fleet_(fleet), target_(target), note_(std::move(note)) {}

  // One attempt.
  [[nodiscard]] Status open();
  // What came within `wait`; empty when nothing did or the console is away. Never an error: it comes back or is waited
  // for until the clock is stopped.
  [[nodiscard]] std::string read(Duration wait);
  // unavailable while the console is away.
  [[nodiscard]] Status write(std::string_view text);
  [[nodiscard]] bool is_open() const { return stream_ != nullptr; }
  [[nodiscard]] std::uint32_t reopened() const { return reopened_; }

 private:
  void lose(const Error& error);
  Fleet& fleet_;
  std::uint32_t target_;
  std::function<void(const std::string&)> note_;
  std::unique_ptr<Bmc> bmc_;
  std::unique_ptr<ConsoleStream> stream_;  // goes before the session it belongs to
  Duration pause_;
  Duration next_try_;
  std::uint32_t reopened_ = 0;
  std::string last_problem_;
};

// Access in the journal: begins when made, ends with the bytes that went by.
class ConsoleAccess {
 public:
  ConsoleAccess(Journal& journal, std::string device);
  ConsoleAccess(const ConsoleAccess&) = delete;
  ConsoleAccess& operator=(const ConsoleAccess&) = delete;
  ~ConsoleAccess();
  // Without it on disk nobody gets to the console.
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
  std::string line{};          // in which it was seen
  std::uint64_t bytes = 0;     // that came
  std::uint32_t reopened = 0;  // times that the console went and came back
  Duration took{};
  std::vector<std::string> tail{};  // the last lines of the log, at most 25
};

// Reads a console into its log until the pattern is seen (regular expression; empty: none), the time is over (zero: no
// limit) or the clock is stopped. An error when the pattern is none, or when the console could not be opened at all
// within the limit.
[[nodiscard]] Result<ConsoleCapture> capture_console(Fleet& fleet, std::uint32_t target, Duration limit,
                                                     const std::string& until_regex, ConsoleLog& log);

}  // namespace weft::oob
