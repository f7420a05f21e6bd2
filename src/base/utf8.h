// UTF-8, one code point at a time. Invalid bytes decode one by one, marked invalid, so any input can be processed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

struct CodePoint {
  std::uint32_t value = 0xFFFD;
  std::size_t size = 1;  // bytes
  bool valid = false;
};

// The code point at `offset`, which must be inside `text`. Overlong forms, surrogates and truncation are invalid.
[[nodiscard]] constexpr CodePoint decode_utf8(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(offset);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - offset < size) return {};
  std::uint32_t value = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const std::uint32_t next = byte(offset + i);
    if ((next & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (next & 0x3FU);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, size, true};
}

// Whether a terminal shows it as itself. Not printable are controls, line separators, byte-order marks and
// bidirectional control characters, with which a file could make a message display misleading text.
[[nodiscard]] constexpr bool is_printable(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  if (code == 0x2028 || code == 0x2029 || code == 0xFEFF || code == 0xFFFE || code == 0xFFFF) return false;
  return !(code >= 0x202A && code <= 0x202E) && !(code >= 0x2066 && code <= 0x2069);
}

// Columns of one code point: 0 for combining marks, 2 for wide East Asian characters and emoji, else 1.
[[nodiscard]] constexpr std::size_t code_point_width(std::uint32_t code) {
  if (code < 0x300) return 1;
  if (code <= 0x36F) return 0;
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
                             {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}};
  for (const Range& range : kWide) {
    if (code >= range.first && code <= range.last) return 2;
  }
  return 1;
}

// `text` on one line, safe to print: tabs become spaces, everything else that is not printable becomes '?'. Truncated
// with "..." after about `limit` bytes.
[[nodiscard]] inline std::string printable(std::string_view text, std::size_t limit = std::string_view::npos) {
  std::string out;
  out.reserve(text.size() < limit ? text.size() : limit + 3);
  for (std::size_t i = 0; i < text.size();) {
    if (i >= limit) return out += "...";
    const CodePoint point = decode_utf8(text, i);
    if (point.value == '\t') {
      out += ' ';
    } else if (point.valid && is_printable(point.value)) {
      out.append(text, i, point.size);
    } else {
      out += '?';
    }
    i += point.size;
  }
  return out;
}

// A piece of input for use in a message: in backticks, printable and truncated.
[[nodiscard]] inline std::string in_backticks(std::string_view text) { return "`" + printable(text, 60) + "`"; }

}  // namespace weft
