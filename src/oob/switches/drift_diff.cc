#include "oob/switches/drift_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/text.h"

namespace weft::oob {
namespace {

constexpr std::size_t kContext = 3;  // lines, as diff -u

using Lines = std::vector<std::string_view>;

// Which lines are removed and which are added.
struct Edits {
  std::vector<bool> removed;
  std::vector<bool> added;
};

// Lines as numbers, so lines are compared as integers.
std::vector<std::uint32_t> numbered(const Lines& lines, std::unordered_map<std::string_view, std::uint32_t>& numbers) {
  std::vector<std::uint32_t> out;
  out.reserve(lines.size());
  for (const std::string_view line : lines)
    out.push_back(numbers.emplace(line, static_cast<std::uint32_t>(numbers.size())).first->second);
  return out;
}

class Myers {
 public:
  Myers(std::vector<std::uint32_t> a, std::vector<std::uint32_t> b, std::size_t most_edits)
      : a_(std::move(a)), b_(std::move(b)), most_(static_cast<std::int64_t>(most_edits)) {}

  Edits run() {
    Edits edits{std::vector<bool>(a_.size()), std::vector<bool>(b_.size())};
    std::size_t head = 0;
    while (head < a_.size() && head < b_.size() && a_[head] == b_[head]) ++head;
    std::size_t tail = 0;
    while (tail + head < a_.size() && tail + head < b_.size() && a_[a_.size() - 1 - tail] == b_[b_.size() - 1 - tail]) {
      ++tail;
    }
    first_ = head;
    n_ = static_cast<std::int64_t>(a_.size() - head - tail);
    m_ = static_cast<std::int64_t>(b_.size() - head - tail);
    if (!search()) {
      std::fill_n(edits.removed.begin() + static_cast<std::ptrdiff_t>(head), n_, true);
      std::fill_n(edits.added.begin() + static_cast<std::ptrdiff_t>(head), m_, true);
      return edits;
    }
    walk_back(edits);
    return edits;
  }

 private:
  [[nodiscard]] bool same(std::int64_t x, std::int64_t y) const {
    return a_[first_ + static_cast<std::size_t>(x)] == b_[first_ + static_cast<std::size_t>(y)];
  }
  // Stores the furthest points of every d; false if more than `most_` edits are needed.
  bool search() {
    for (std::int64_t d = 0; d <= std::min(n_ + m_, most_); ++d) {
      std::vector<std::int32_t> v(static_cast<std::size_t>(2 * d + 1));
      for (std::int64_t k = -d; k <= d; k += 2) {
        std::int64_t x = 0;
        if (d > 0) {
          const std::vector<std::int32_t>& former = trace_.back();
          const bool down = goes_down(former, d, k);
          x = down ? former_at(former, d, k + 1) : former_at(former, d, k - 1) + 1;
        }
        std::int64_t y = x - k;
        while (x < n_ && y < m_ && x >= 0 && y >= 0 && same(x, y)) {
          ++x;
          ++y;
        }
        v[static_cast<std::size_t>(k + d)] = static_cast<std::int32_t>(x);
        if (x >= n_ && y >= m_) {
          trace_.push_back(std::move(v));
          return true;
        }
      }
      trace_.push_back(std::move(v));
    }
    return false;
  }

  // The points after d - 1 edits: diagonals -(d-1)..(d-1).
  static std::int64_t former_at(const std::vector<std::int32_t>& former, std::int64_t d, std::int64_t k) {
    return former[static_cast<std::size_t>(k + d - 1)];
  }
  // Whether the last of d edits that end on diagonal k adds a line.
  static bool goes_down(const std::vector<std::int32_t>& former, std::int64_t d, std::int64_t k) {
    if (k == -d) return true;
    if (k == d) return false;
    return former_at(former, d, k - 1) < former_at(former, d, k + 1);
  }

  void walk_back(Edits& edits) const {
    std::int64_t x = n_;
    std::int64_t y = m_;
    for (std::int64_t d = static_cast<std::int64_t>(trace_.size()) - 1; d > 0; --d) {
      const std::vector<std::int32_t>& former = trace_[static_cast<std::size_t>(d - 1)];
      const std::int64_t k = x - y;
      const bool down = goes_down(former, d, k);
      const std::int64_t from_x = former_at(former, d, down ? k + 1 : k - 1);
      const std::int64_t from_y = from_x - (down ? k + 1 : k - 1);
      if (down) {
        edits.added[first_ + static_cast<std::size_t>(from_y)] = true;
      } else {
        edits.removed[first_ + static_cast<std::size_t>(from_x)] = true;
      }
      x = from_x;
      y = from_y;
    }
  }

  std::vector<std::uint32_t> a_;
  std::vector<std::uint32_t> b_;
  std::int64_t most_;
  std::size_t first_ = 0;
  std::int64_t n_ = 0;
  std::int64_t m_ = 0;
  std::vector<std::vector<std::int32_t>> trace_;
};

struct Row {
  char mark = ' ';
  std::size_t a = 0;  // lines of each text before this row
  std::size_t b = 0;
  std::string_view text;
};

std::vector<Row> rows_of(const Lines& a, const Lines& b, const Edits& edits) {
  std::vector<Row> rows;
  rows.reserve(a.size() + b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && edits.removed[i]) {
      rows.push_back({'-', i, j, a[i]});
      ++i;
    } else if (j < b.size() && edits.added[j]) {
      rows.push_back({'+', i, j, b[j]});
      ++j;
    } else {
      rows.push_back({' ', i, j, a[i]});
      ++i;
      ++j;
    }
  }
  return rows;
}

std::string range_text(std::size_t before, std::size_t count) {
  const std::size_t start = count == 0 ? before : before + 1;
  return count == 1 ? fmt::format("{}", start) : fmt::format("{},{}", start, count);
}

void write_hunk(const std::vector<Row>& rows, std::size_t first, std::size_t end, std::string& out) {
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  for (std::size_t i = first; i < end; ++i) {
    in_a += rows[i].mark != '+' ? 1U : 0U;
    in_b += rows[i].mark != '-' ? 1U : 0U;
  }
  out += fmt::format("@@ -{} +{} @@\n", range_text(rows[first].a, in_a), range_text(rows[first].b, in_b));
  for (std::size_t i = first; i < end; ++i) {
    out += rows[i].mark;
    out += rows[i].text;
    out += '\n';
  }
}

}  // namespace

TextDiff unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                      std::string_view after_name, std::size_t most_edits) {
  const Lines a = split_lines(before);
  const Lines b = split_lines(after);
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  std::vector<std::uint32_t> a_numbers = numbered(a, numbers);
  std::vector<std::uint32_t> b_numbers = numbered(b, numbers);
  const Edits edits = Myers(std::move(a_numbers), std::move(b_numbers), most_edits).run();
  TextDiff diff;
  diff.removed = static_cast<std::size_t>(std::count(edits.removed.begin(), edits.removed.end(), true));
  diff.added = static_cast<std::size_t>(std::count(edits.added.begin(), edits.added.end(), true));
  if (diff.empty()) return diff;
  diff.text = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  const std::vector<Row> rows = rows_of(a, b, edits);
  for (std::size_t i = 0; i < rows.size();) {
    if (rows[i].mark == ' ') {
      ++i;
      continue;
    }
    const std::size_t first = i > kContext ? i - kContext : 0;
    std::size_t last = i;  // the last changed row of the hunk
    for (std::size_t j = i; j < rows.size() && j <= last + 2 * kContext + 1; ++j) {
      if (rows[j].mark != ' ') last = j;
    }
    const std::size_t end = std::min(rows.size(), last + kContext + 1);
    write_hunk(rows, first, end, diff.text);
    i = end;
  }
  return diff;
}

}  // namespace weft::oob
