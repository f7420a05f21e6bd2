// One person's (or command's) view of a console that several share. The first to come holds the console (console/hub.h,
// in a thread of this process), the others attach to it. When the holder leaves or dies, one of those who stay becomes
// the holder by itself: there is no daemon, and the console is closed when the last one has gone.
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
  bool view = false;        // never writes
  bool take = false;        // takes the pen from whoever has it
  std::size_t replay = 25;  // lines of the log that are shown first
  int input = -1;           // descriptor of a terminal in raw mode; -1: nothing is typed
  std::string send{};       // typed once attached
  std::string until{};      // leaves when this is seen (regular expression)
  Duration limit{};         // leaves after that time; zero: never
  // What the console said, as it came. Not called from two threads at once.
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

// Until the person leaves (~. at the start of a line), the pattern is seen, the time is over or the clock is stopped.
[[nodiscard]] Result<ConsoleOutcome> share_console(Fleet& fleet, std::uint32_t target,
                                                   const ConsoleClientOptions& options);

// The keys of ssh(1): ~ at the start of a line is a word to weft, not to the console.
class EscapeKeys {
 public:
  struct Pressed {
    std::string send{};
    bool leave = false;
    bool help = false;
    bool take = false;
  };
  // What of the typed bytes goes to the console, and what was asked of weft. After `leave` the rest is dropped.
  [[nodiscard]] Pressed press(std::string_view typed);

 private:
  bool at_start_ = true;
  bool pending_ = false;
};

}  // namespace weft::oob
