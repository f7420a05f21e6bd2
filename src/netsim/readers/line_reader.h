// Reads the lines and words of a plain text file in place, for the formats of other simulators: words separated by
// spaces, one record per line. It tracks the location of every word, parses numbers independently of the locale,
// without floating-point rounding and with overflow checks, and stops after a few errors: a file of another format must
// not cause a million of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft::netsim {

struct Word {
  std::string_view text;     // empty: the line had no more words
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1
};

class LineReader {
 public:
  static constexpr std::size_t kMaxErrors = 20;
  static constexpr std::size_t kMaxLineBytes = 1U << 20U;

  // `comment` starts a comment that runs to the end of the line; '\0' if the format has none.
  LineReader(const Sources& sources, FileId file, Diagnostics& diagnostics, char comment);

  // Skips the rest of this line and moves to the next line that has a word. False at the end, after a line that is too
  // long, and after kMaxErrors errors.
  bool next_line();
  // The next word of the line; empty, located after the last one, if there is none.
  Word word();
  [[nodiscard]] Word peek() const;

  void error(const Word& word, std::string message, std::string hint = {});
  void warning(const Word& word, std::string message, std::string hint = {});
  // "expected <what>, not `x`", or "..., but the line ends here".
  void expected(std::string_view what, const Word& found, std::string hint = {});
  [[nodiscard]] bool failed() const { return errors_ > 0; }
  [[nodiscard]] Word line_end() const;  // for an error about something missing

  // Parses a decimal integer. Reports an error and returns nothing if the word is not a number or outside [least,
  // most].
  std::optional<std::int64_t> integer(const Word& word, std::string_view what, std::int64_t least, std::int64_t most);
  // The same for the next word.
  std::optional<std::int64_t> integer(std::string_view what, std::int64_t least, std::int64_t most) {
    return integer(word(), what, least, most);
  }
  bool ends_here();  // reports an error if there is another word
  // Parses a decimal number ("2.000001", "1e-6") times 10^scale, rounded to the nearest integer; must be in [0, most].
  std::optional<std::int64_t> decimal(const Word& word, std::string_view what, int scale, std::int64_t most);

 private:
  void finish_line();

  Diagnostics& diagnostics_;
  FileId file_;
  char comment_;
  const char* next_;  // after the current line
  const char* end_;
  const char* line_begin_ = nullptr;
  const char* at_ = nullptr;  // in the current line
  const char* line_end_ = nullptr;
  std::uint32_t line_ = 0;
  std::size_t errors_ = 0;
  bool stopped_ = false;
};

// "`text`", truncated if long, without control characters.
[[nodiscard]] std::string quoted(std::string_view text);

// A decimal number times 10^scale, rounded to the nearest integer; nothing if it is not a number, INT64_MAX if it is
// too large.
[[nodiscard]] std::optional<std::int64_t> scaled_decimal(std::string_view text, int scale);

}  // namespace weft::netsim
