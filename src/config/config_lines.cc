#include "config/config_lines.h"

#include <algorithm>

#include "base/text.h"

namespace weft::config {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

void split_words(std::string_view line, ConfigLine& out) {
  std::size_t i = out.indent;
  while (i < line.size()) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    const char quote = line[i] == '"' || line[i] == '\'' ? line[i] : '\0';
    const std::size_t close = quote == '\0' ? std::string_view::npos : line.find(quote, i + 1);
    const bool quoted = close != std::string_view::npos;
    std::size_t end = i;
    if (quoted) {
      end = close + 1;
    } else {
      while (end < line.size() && !is_blank(line[end])) ++end;
    }
    out.words.push_back(quoted ? line.substr(i + 1, close - i - 1) : line.substr(i, end - i));
    out.columns.push_back(i + 1);
    i = end;
  }
}

}  // namespace

SourceLocation ConfigLine::place(std::size_t word) const {
  const std::size_t column = word < columns.size() ? columns[word] : indent + 1;
  return {file, static_cast<std::uint16_t>(std::min<std::size_t>(column, 65535)), number};
}

std::string_view ConfigLine::rest(std::size_t word) const {
  if (word >= columns.size()) return {};
  return text.substr(columns[word] - indent - 1);
}

void ConfigLine::drop(std::size_t count) {
  count = std::min(count, words.size());
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
  columns.erase(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(count));
}

std::vector<ConfigLine> split_lines(std::string_view text, FileId file) {
  std::vector<ConfigLine> lines;
  std::uint32_t number = 0;
  for (std::string_view line : weft::split_lines(text)) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ConfigLine made;
    made.number = number;
    made.file = file;
    while (made.indent < line.size() && is_blank(line[made.indent])) ++made.indent;
    if (made.indent == line.size()) continue;
    made.text = line.substr(made.indent);
    split_words(line, made);
    lines.push_back(std::move(made));
  }
  return lines;
}

bool abbreviates(std::string_view word, std::string_view full, std::size_t least) {
  return word.size() >= least && word.size() <= full.size() && equals_ignoring_case(word, full.substr(0, word.size()));
}

}  // namespace weft::config
