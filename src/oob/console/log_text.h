// Bytes of a serial console as lines that are safe to keep and to show: control characters and escape sequences in a
// visible form (as `cat -v`), every line with its time. Knows nothing of files.
#pragma once

#include <cstdint>
#include <functional>
#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oob/durable/clock.h"

namespace weft::oob {

// A line longer than this is broken, so that a console without line ends fills no memory.
inline constexpr std::size_t kMaxConsoleLine = 4096;  // bytes

// ESC is "^[", other controls "^X", DEL "^?", bytes that are not UTF-8 "\xNN". Tabs stay.
[[nodiscard]] std::string visible_text(std::string_view bytes);
// What a person would read: escape sequences (ECMA-48 CSI, OSC and the short ones) and controls left out.
[[nodiscard]] std::string plain_text(std::string_view bytes);

// "2026-11-16T02:03:04.567Z | text": the mark says what it is.
enum class LineMark : char {
  line = '|',
  goes_on = '+',  // the line before had not ended
  note = '#'      // not from the console: who came, who left, what was lost
};
[[nodiscard]] std::string log_line(std::int64_t wall_ms, LineMark mark, std::string_view text);

// Cuts a stream into such lines. An unfinished line is given out after a second, and what follows is marked.
class ConsoleLines {
 public:
  ConsoleLines(Clock& clock, std::function<void(std::string)> emit) : clock_(clock), emit_(std::move(emit)) {}
  void feed(std::string_view bytes);
  void tick();   // call now and then
  void flush();  // gives out what is unfinished

 private:
  void give_out(bool ended);
  Clock& clock_;
  std::function<void(std::string)> emit_;
  std::string line_;
  std::int64_t began_ms_ = 0;  // wall time of the line's first byte
  Duration began_;
  bool goes_on_ = false;
};

// Looks for a text in a stream, line by line, also in a line that has not ended yet (a prompt).
class ConsoleMatcher {
 public:
  // A regular expression (ECMAScript without back-references, so that matching takes polynomial time) of at most 256
  // bytes, searched in lines of at most 4 KiB of plain text.
  [[nodiscard]] static Result<ConsoleMatcher> make(const std::string& pattern);
  // True when it was seen now or before.
  bool feed(std::string_view bytes);
  [[nodiscard]] bool seen() const { return seen_; }
  [[nodiscard]] const std::string& line() const { return found_; }  // the plain line it was seen in

 private:
  bool test();
  std::regex pattern_;
  std::string line_;
  std::string found_;
  bool seen_ = false;
};

}  // namespace weft::oob
