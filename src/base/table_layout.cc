#include "base/table_layout.h"

#include <algorithm>
#include <numeric>

#include "base/document.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::size_t kMaxLeast = 24;  // longer words are broken where a table is too wide
constexpr std::string_view kBreakAfter = ",;/|:";

// Bytes of the longest prefix of `word` that is at most `width` columns wide; at least one code point. Prefers to end
// after a character of kBreakAfter that is not in the first third.
std::size_t prefix_that_fits(std::string_view word, std::size_t width) {
  std::size_t used = 0;
  std::size_t end = 0;
  std::size_t preferred = 0;
  while (end < word.size()) {
    const CodePoint point = decode_utf8(word, end);
    const std::size_t columns = code_point_width(point.value);
    if (end > 0 && used + columns > width) break;
    used += columns;
    end += point.size;
    if (kBreakAfter.find(word[end - 1]) != std::string_view::npos && used * 3 >= width) preferred = end;
  }
  return end == word.size() || preferred == 0 ? end : preferred;
}

class LineBreaker {
 public:
  explicit LineBreaker(std::size_t width) : width_(std::max<std::size_t>(width, 1)) {}

  void add(std::string_view word) {
    const std::size_t needed = display_width(word);
    if (used_ > 0 && used_ + 1 + needed <= width_) return append(word, needed);
    if (needed <= width_) {
      if (used_ > 0) next_line();
      return append(word, needed);
    }
    add_long(word);
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  void add_long(std::string_view word) {
    // A long list continues the line if a useful part of it fits there.
    if (used_ > 0 && used_ + 1 + width_ / 2 > width_) next_line();
    while (!word.empty()) {
      const std::size_t room = used_ > 0 ? width_ - used_ - 1 : width_;
      const std::string_view part = word.substr(0, prefix_that_fits(word, room));
      append(part, display_width(part));
      word.remove_prefix(part.size());
      if (!word.empty()) next_line();
    }
  }

  void append(std::string_view text, std::size_t columns) {
    if (used_ > 0) {
      lines_.back() += ' ';
      ++used_;
    }
    lines_.back() += text;
    used_ += columns;
  }

  void next_line() {
    lines_.emplace_back();
    used_ = 0;
  }

  std::size_t width_;
  std::size_t used_ = 0;
  std::vector<std::string> lines_ = std::vector<std::string>(1);
};

// The next word: up to a space, or all of `...` in backticks where it is short enough for one line.
std::string_view next_word(std::string_view text, std::size_t width) {
  std::size_t end = text.find(' ');
  const std::size_t open = text.substr(0, end).find('`');
  if (end == std::string_view::npos || open == std::string_view::npos) return text.substr(0, end);
  const std::size_t close = text.find('`', open + 1);
  if (close == std::string_view::npos || close < end || close > width) return text.substr(0, end);
  end = text.find(' ', close);
  return text.substr(0, end);
}

// The column to leave out next; 0 if only the first is left.
std::size_t least_important(const std::vector<ColumnWidths>& columns, const std::vector<std::size_t>& widths) {
  std::size_t found = 0;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (widths[i] == 0) continue;
    if (found == 0 || columns[i].priority <= columns[found].priority) found = i;
  }
  return found;
}

// Takes out of `open` the columns that `is_settled`, each with `width_of` it; true if there were any.
template <class Settled, class Width>
bool settle(std::vector<std::size_t>& open, std::vector<std::size_t>& widths, std::size_t& room,
            const Settled& is_settled, const Width& width_of) {
  std::vector<std::size_t> left;
  for (const std::size_t i : open) {
    if (!is_settled(i)) {
      left.push_back(i);
      continue;
    }
    widths[i] = width_of(i);
    room -= std::min(room, widths[i]);
  }
  const bool any = left.size() < open.size();
  open = std::move(left);
  return any;
}

// Gives each column that `widths` has (with its least width) its share of `room`, the sum they may use. Those that need
// more than an equal share come first: what they take makes the share of the others smaller.
void share(const std::vector<ColumnWidths>& columns, std::vector<std::size_t>& widths, std::size_t room) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] > 0) open.push_back(i);
  }
  for (bool changed = true; changed && !open.empty();) {
    const std::size_t part = room / open.size();
    changed = settle(
        open, widths, room, [&](std::size_t i) { return columns[i].least > part; },
        [&](std::size_t i) { return columns[i].least; });
    if (changed) continue;
    changed = settle(
        open, widths, room, [&](std::size_t i) { return columns[i].natural <= part; },
        [&](std::size_t i) { return columns[i].natural; });
  }
  for (std::size_t n = 0; n < open.size(); ++n) {
    widths[open[n]] = room / open.size() + (n < room % open.size() ? 1 : 0);
  }
}

}  // namespace

std::vector<std::string> wrap_text(std::string_view text, std::size_t width) {
  LineBreaker breaker(width);
  while (!text.empty()) {
    const std::string_view word = next_word(text, width);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!word.empty()) breaker.add(word);
  }
  return breaker.take();
}

std::size_t least_width(std::string_view text) {
  std::size_t widest = 0;
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    i += point.size;
    if (point.value == ' ') {
      used = 0;
      continue;
    }
    used += code_point_width(point.value);
    widest = std::max(widest, used);
    if (kBreakAfter.find(text[i - 1]) != std::string_view::npos) used = 0;
  }
  return std::min(widest, kMaxLeast);
}

TableLayout fit_columns(const std::vector<ColumnWidths>& columns, std::size_t width, std::size_t gap) {
  TableLayout layout;
  for (const ColumnWidths& column : columns) layout.widths.push_back(std::max<std::size_t>(column.least, 1));
  std::vector<std::size_t>& widths = layout.widths;
  const auto gaps = [&] {
    const auto count = static_cast<std::size_t>(
        std::count_if(widths.begin(), widths.end(), [](std::size_t each) { return each > 0; }));
    return count > 1 ? (count - 1) * gap : 0;
  };
  while (std::accumulate(widths.begin(), widths.end(), gaps()) > width) {
    const std::size_t drop = least_important(columns, widths);
    if (drop == 0) break;
    widths[drop] = 0;
    layout.complete = false;
  }
  share(columns, widths, width > gaps() ? width - gaps() : 1);
  return layout;
}

}  // namespace weft
