// Converts serial console bytes to lines that are safe to store and display: control characters and escape sequences in
// visible form (as `cat -v`), every line with a timestamp. No file I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oob/durable/clock.h"

namespace weft::oob {

// Longer lines are split, so a console without line ends cannot exhaust memory.
inline constexpr std::size_t kMaxConsoleLine = 4096;  // bytes

// ESC is "^[", other control characters "^X", DEL "^?", bytes that are not UTF-8 "\xNN". Tabs are kept.
[[nodiscard]] std::string visible_text(std::string_view bytes);
// Human-readable text: escape sequences (ECMA-48 CSI, OSC and short ones) and control characters removed.
[[nodiscard]] std::string plain_text(std::string_view bytes);

// "2026-11-16T02:03:04.567Z | text": the mark tells the kind of line.
enum class LineMark : char {
  line = '|',
  goes_on = '+',  // continues the previous, unfinished line
  note = '#'      // not from the console: who joined, who left, what was lost
};
[[nodiscard]] std::string log_line(std::int64_t wall_ms, LineMark mark, std::string_view text);

// Splits a stream into such lines. An unfinished line is emitted after one second, and its continuation is marked.
class ConsoleLines {
 public:
  ConsoleLines(Clock& clock, std::function<void(std::string)> emit) : clock_(clock), emit_(std::move(emit)) {}
  void feed(std::string_view bytes);
  void tick();   // call periodically
  void flush();  // emits an unfinished line

 private:
  void give_out(bool ended);
  Clock& clock_;
  std::function<void(std::string)> emit_;
  std::string line_;
  std::int64_t began_ms_ = 0;  // wall-clock time of the line's first byte
  Duration began_;
  bool goes_on_ = false;
};

// Searches a stream for a pattern, line by line, also in an unfinished line (a prompt).
class ConsoleMatcher {
 public:
  // A regular expression (ECMAScript without back-references, so matching takes polynomial time) of at most 256 bytes,
  // applied to lines of at most 4 KiB of plain text.
  [[nodiscard]] static Result<ConsoleMatcher> make(const std::string& pattern);
  // True if the pattern was seen now or before.
  bool feed(std::string_view bytes);
  [[nodiscard]] bool seen() const { return seen_; }
  [[nodiscard]] const std::string& line() const { return found_; }  // the plain line that matched

 private:
  bool test();
  std::regex pattern_;
  std::string line_;
  std::string found_;
  bool seen_ = false;
};

}  // namespace weft::oob
