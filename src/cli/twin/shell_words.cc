#include "cli/twin/shell_words.h"

#include <fmt/format.h>

#include "base/text.h"

namespace weft::cli {

Result<std::vector<std::string>> split_shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // of a word, which may be empty: ''
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'';
    if (escapes && i + 1 == text.size()) return Error{ErrorCode::invalid_input, "a backslash at the end", {}};
    if (escapes) {
      const char next = text[++i];
      // In double quotes, a backslash is one unless it precedes what would be special.
      if (quote == '"' && !contains("\"\\$`", std::string_view(&next, 1))) word += c;
      word += next;
      inside = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (contains(kSpaces, std::string_view(&c, 1))) {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != 0) return Error{ErrorCode::invalid_input, fmt::format("a quote ({}) is not closed", quote), {}};
  if (inside) words.push_back(std::move(word));
  return words;
}

}  // namespace weft::cli
