// Fits tables and text into a terminal: the width of each column, and text broken into lines. Used by document.cc for
// the formats for people. It knows widths only: not what a column means, and not the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Breaks `text` into lines of at most `width` columns: at spaces, else after one of `, ; / | :`, else anywhere. Never
// empty. Text in backticks is kept on one line if possible.
[[nodiscard]] std::vector<std::string> wrap_text(std::string_view text, std::size_t width);

struct ColumnWidths {
  std::size_t natural = 0;  // of the widest cell or heading
  std::size_t least = 0;    // below this the column is not legible
  int priority = 0;
};

struct TableLayout {
  std::vector<std::size_t> widths;  // 0: the column is left out
  bool complete = true;             // all columns are there
};

// Columns narrower than a fair share keep their natural width, the others share the rest. Where even the least widths
// do not fit, columns are left out: the lowest priority first, of equal ones the rightmost, never the first.
[[nodiscard]] TableLayout fit_columns(const std::vector<ColumnWidths>& columns, std::size_t width, std::size_t gap);

// The least width at which text stays legible when it is wrapped: its longest part without a place to break, within
// reason.
[[nodiscard]] std::size_t least_width(std::string_view text);

}  // namespace weft
