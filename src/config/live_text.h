// Lines of command output, as views into the file, each with its number. For readers of tables and listings, where
// spaces and line breaks are significant; host_text.h is for files written by people.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "base/text.h"

namespace weft::config::live_text {

struct Line {
  std::string_view text;  // without its line end
  SourceLocation place;   // column 1
};

[[nodiscard]] inline std::vector<Line> lines_of(const Sources& sources, FileId file) {
  std::vector<Line> lines;
  std::uint32_t number = 0;
  for (std::string_view line : split_lines(sources.text(file))) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back({line, SourceLocation{file, 1, ++number}});
  }
  return lines;
}

// The text as an integer, if it is nothing else.
template <class T = std::int64_t>
[[nodiscard]] std::optional<T> number_of(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The device that a file is named after: train001 for "out/train001.lldp.json". Only suffixes that denote the file type
// are removed, since host names may contain dots.
[[nodiscard]] std::string device_of_path(std::string_view path);

}  // namespace weft::config::live_text
