#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weft {

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_upper(c);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return to_lower(x) == to_lower(y); });
}

std::string_view trim(std::string_view text, std::string_view spaces) {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return trim_end(text, spaces);
}

std::string_view trim_end(std::string_view text, std::string_view spaces) {
  return text.substr(0, text.find_last_not_of(spaces) + 1);  // npos + 1 is 0
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    parts.push_back(trim(text.substr(start, i - start), " "));
    start = i + 1;
  }
  return parts;
}

std::vector<std::string_view> split_at_spaces(std::string_view text, std::string_view spaces) {
  std::vector<std::string_view> words;
  for (std::size_t start = text.find_first_not_of(spaces); start < text.size();) {
    const std::size_t end = std::min(text.find_first_of(spaces, start), text.size());
    words.push_back(text.substr(start, end - start));
    start = text.find_first_not_of(spaces, end);
  }
  return words;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

void append_format_args(std::string& out, fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(std::back_inserter(out), format, args);
}

}  // namespace weft
