// Lines of what a program printed, as views into the file, each with its number. For readers of tables and listings,
// where blanks and line breaks carry meaning; host_text.h is for files that people write.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace weft::config::live_text {

struct Line {
  std::string_view text;  // without its line end
  SourceLocation place;   // column 1
};

[[nodiscard]] inline std::vector<Line> lines_of(const Sources& sources, FileId file) {
  std::vector<Line> lines;
  std::string_view rest = sources.text(file);
  std::uint32_t number = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back({line, SourceLocation{file, 1, ++number}});
  }
  return lines;
}

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

[[nodiscard]] inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return words;
    text.remove_prefix(first);
    const std::size_t end = text.find_first_of(" \t");
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end);
  }
}

// A whole number and nothing else.
template <class T = std::int64_t>
[[nodiscard]] std::optional<T> number_of(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The device that a file is named after: "out/train001.lldp.json" is train001's. Only endings that say what the file
// is are taken off, since names of hosts may have dots.
[[nodiscard]] std::string device_of_path(std::string_view path);

}  // namespace weft::config::live_text
