// Line-based differences of two texts in `diff -u` format: Myers' O(ND) algorithm (Algorithmica 1, 1986). Bounded: if
// the texts have little in common, the whole middle is shown as replaced, which is correct but not minimal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::oob {

struct TextDiff {
  std::size_t removed = 0;  // lines of the first that are not in the second
  std::size_t added = 0;
  std::string text;  // unified, 3 lines of context; empty when the texts are equal
  [[nodiscard]] bool empty() const { return removed == 0 && added == 0; }
};

// Maximum number of edits for the minimal diff: limits memory to 4 MiB.
inline constexpr std::size_t kMaxEdits = 1000;

[[nodiscard]] TextDiff unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                                    std::string_view after_name, std::size_t most_edits = kMaxEdits);

}  // namespace weft::oob
