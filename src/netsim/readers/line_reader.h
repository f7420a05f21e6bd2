// Walks the lines and words of a plain text file in place, for the formats of other simulators: words between blanks,
// one record a line. It keeps the place of every word, turns words into numbers without locale, rounding surprises or
// overflow, and gives up after a few errors: a file of another kind must not give a million of them.
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

  // `comment` starts one that runs to the end of the line; '\0' where the format has none.
  LineReader(const Sources& sources, FileId file, Diagnostics& diagnostics, char comment);

  // On to the next line that has a word, past whatever was left of this one. False at the end, after a line that is too
  // long, and after kMaxErrors errors.
  bool next_line();
  // The next word of the line; empty, with the place behind the last one, when there is none.
  Word word();
  [[nodiscard]] Word peek() const;

  void error(const Word& word, std::string message, std::string hint = {});
  void warning(const Word& word, std::string message, std::string hint = {});
  // "expected <what>, not `x`", or "..., but the line ends here".
  void expected(std::string_view what, const Word& found, std::string hint = {});
  [[nodiscard]] bool failed() const { return errors_ > 0; }
  [[nodiscard]] Word line_end() const;  // for an error about something missing

  // Whole numbers, in decimal. An error, and nothing, when the word is no number or out of [least, most].
  std::optional<std::int64_t> integer(const Word& word, std::string_view what, std::int64_t least, std::int64_t most);
  // The same of the next word.
  std::optional<std::int64_t> integer(std::string_view what, std::int64_t least, std::int64_t most) {
    return integer(word(), what, least, most);
  }
  bool ends_here();  // an error when there is another word
  // A decimal number ("2.000001", "1e-6") times 10^scale, rounded to the nearest whole; must be in [0, most].
  std::optional<std::int64_t> decimal(const Word& word, std::string_view what, int scale, std::int64_t most);

 private:
  void finish_line();

  Diagnostics& diagnostics_;
  FileId file_;
  char comment_;
  const char* next_;  // behind the current line
  const char* end_;
  const char* line_begin_ = nullptr;
  const char* at_ = nullptr;  // in the current line
  const char* line_end_ = nullptr;
  std::uint32_t line_ = 0;
  std::size_t errors_ = 0;
  bool stopped_ = false;
};

// "`text`", cut where it is long, with nothing that could move a terminal's cursor.
[[nodiscard]] std::string quoted(std::string_view text);

// A decimal number times 10^scale, rounded to the nearest whole; nothing for what is no number, and INT64_MAX for what
// is too large.
[[nodiscard]] std::optional<std::int64_t> scaled_decimal(std::string_view text, int scale);

}  // namespace weft::netsim
