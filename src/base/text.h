// Small helpers for text: letter case, trimming, splitting, joining, appending. All of them are ASCII-only and
// locale-independent; bytes above 127 are neither letters nor spaces.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
[[nodiscard]] constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }
[[nodiscard]] constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

[[nodiscard]] constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
[[nodiscard]] constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
[[nodiscard]] std::string to_lower(std::string_view text);
[[nodiscard]] std::string to_upper(std::string_view text);
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The default set of spaces; formats differ in it.
inline constexpr std::string_view kSpaces = " \t\r\n";
inline constexpr std::string_view kLineSpaces = " \t\r";  // inside a line, whose end may be "\r\n"
inline constexpr std::string_view kTabsAndSpaces = " \t";

[[nodiscard]] std::string_view trim(std::string_view text, std::string_view spaces = kSpaces);      // at both ends
[[nodiscard]] std::string_view trim_end(std::string_view text, std::string_view spaces = kSpaces);  // at the end only

// The parts between separators, including empty ones: always one more than there are separators.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
// Splits at commas outside brackets and trims each part: "a[1,2], b" is "a[1,2]" and "b". Empty parts are kept.
[[nodiscard]] std::vector<std::string_view> split_outside_brackets(std::string_view text);
// The words between runs of spaces; none is empty.
[[nodiscard]] std::vector<std::string_view> split_at_spaces(std::string_view text, std::string_view spaces = kSpaces);
// The lines without their '\n'. Text after the last '\n' is a line only if it is not empty; a '\r' is kept.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

// "a, b, c" with the separator ", ". Parts are strings or string views.
template <class Parts>
[[nodiscard]] std::string join(const Parts& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out += separator;
    out += part;
    first = false;
  }
  return out;
}

// "a, b or c" with the separators ", " and " or ".
template <class Parts>
[[nodiscard]] std::string join(const Parts& parts, std::string_view separator, std::string_view last_separator) {
  std::string out;
  std::size_t left = parts.size();
  for (const auto& part : parts) {
    if (left < parts.size()) out += left == 1 ? last_separator : separator;
    out += part;
    --left;
  }
  return out;
}

// Every `from` replaced by `to`, from left to right; replacements are not searched again.
[[nodiscard]] std::string replace_all(std::string text, std::string_view from, std::string_view to);

// Formats at the end of `out`. fmt::format_to with an iterator would compile fmt's formatters, floating point included,
// into every file that uses it (70 KB of code each); here they are compiled once.
void append_format_args(std::string& out, fmt::string_view format, fmt::format_args args);
template <class... Args>
void append_format(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  append_format_args(out, format, fmt::make_format_args(args...));
}

}  // namespace weft
