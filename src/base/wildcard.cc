#include "base/wildcard.h"

#include "base/text.h"

namespace weft {

bool wildcard_match(std::string_view pattern, std::string_view text, LetterCase letters) {
  const auto same = [letters](char a, char b) {
    return a == b || (letters == LetterCase::ignored && to_lower(a) == to_lower(b));
  };
  // Greedy with one backtracking point: linear in practice, at worst pattern times text.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || same(pattern[p], text[t]))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace weft
