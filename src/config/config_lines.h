// Line-oriented configuration (NX-OS, NVUE): a line as words with locations. Words are split at spaces; quotes keep a
// word together. The dialect's reader interprets them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "base/text.h"

namespace weft::config {

struct ConfigLine {
  std::uint32_t number = 0;
  FileId file = 0;
  std::size_t indent = 0;  // leading spaces; a tab counts as one
  std::string_view text;   // without the line end and the indent
  std::vector<std::string_view> words;
  std::vector<std::size_t> columns;  // of each word, from 1

  [[nodiscard]] std::size_t size() const { return words.size(); }
  // Empty if there is no such word.
  [[nodiscard]] std::string_view at(std::size_t i) const { return i < words.size() ? words[i] : std::string_view(); }
  [[nodiscard]] SourceLocation place(std::size_t word = 0) const;
  // The line from a word to its end, as written.
  [[nodiscard]] std::string_view rest(std::size_t word) const;
  // Drops words at the front, such as a prompt.
  void drop(std::size_t count);
};

// All non-empty lines, comments included.
[[nodiscard]] std::vector<ConfigLine> split_lines(std::string_view text, FileId file);

// Whether `word` is `full` or a prefix of it with at least `least` letters, ignoring case.
[[nodiscard]] bool abbreviates(std::string_view word, std::string_view full, std::size_t least);

}  // namespace weft::config
