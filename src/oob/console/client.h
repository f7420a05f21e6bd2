// One user's (or command's) attachment to a shared console. The first process to attach holds the console session
// (console/hub.h, in a thread of that process); the others attach to it. When the holder exits or dies, one of the
// remaining processes takes over automatically: there is no daemon, and the console is closed when the last one
// detaches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "oob/console/hub.h"

namespace weft::oob {

struct ConsoleClientOptions {
  std::string folder{};  // STATE/consoles
  std::string who{};
  std::string why{};
  bool view = false;        // read-only
  bool take = false;        // takes over the write lock
  std::size_t replay = 25;  // lines of the log to show first
  int input = -1;           // descriptor of a terminal in raw mode; -1: no keyboard input
  std::string send{};       // typed once attached
  std::string until{};      // detach when this is seen (regular expression)
  Duration limit{};         // detach after that time; zero: never
  // Console output as received. Never called from two threads at once.
  std::function<void(std::string_view)> output{};
  std::function<void(std::string_view)> replayed{};  // a line of the log
  std::function<void(std::string_view)> note{};
  ConsoleLogOptions log{};
};

enum class ConsoleEnd : std::uint8_t { left, seen, time_over, stopped };

struct ConsoleOutcome {
  ConsoleEnd end = ConsoleEnd::left;
  std::string line{};  // in which the pattern was seen
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

// Runs until the user detaches (~. at line start), the pattern is seen, the limit expires or the clock is stopped.
[[nodiscard]] Result<ConsoleOutcome> share_console(Fleet& fleet, std::uint32_t target,
                                                   const ConsoleClientOptions& options);

// The escape keys of ssh(1): ~ at the start of a line is a command to weft, not sent to the console.
class EscapeKeys {
 public:
  struct Pressed {
    std::string send{};
    bool leave = false;
    bool help = false;
    bool take = false;
  };
  // Splits typed bytes into what goes to the console and commands to weft. After `leave` the rest is dropped.
  [[nodiscard]] Pressed press(std::string_view typed);

 private:
  bool at_start_ = true;
  bool pending_ = false;
};

}  // namespace weft::oob
