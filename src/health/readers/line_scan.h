// Small steps through a line of text, for the readers of logs: each takes something from the front of a view, or finds
// a value by the words before it. They never throw and never allocate, so a hostile line costs no more than its length.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/utf8.h"
#include "health/core/signal.h"

namespace weft::health {

// Removes `prefix` from the front; false if the text begins with something else.
[[nodiscard]] inline bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

inline void skip_spaces(std::string_view& text) {
  const std::size_t first = text.find_first_not_of(kTabsAndSpaces);
  text.remove_prefix(first == std::string_view::npos ? text.size() : first);
}

// Removes the digits at the front. nullopt, with nothing removed: there are none, or the number exceeds 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> take_number(std::string_view& text, int base = 10) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

// Removes the text before `mark`, and the mark; without a mark, all of it.
[[nodiscard]] inline std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t end = text.find(mark);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + mark.size());
  return taken;
}

// What follows the first occurrence of `words`.
[[nodiscard]] inline std::optional<std::string_view> find_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + words.size());
}

// The decimal number that follows the first occurrence of `words`.
[[nodiscard]] inline std::optional<std::uint64_t> find_number(std::string_view text, std::string_view words) {
  std::optional<std::string_view> rest = find_after(text, words);
  return rest ? take_number(*rest) : std::nullopt;
}

// The letters, digits and any of `others` at the front.
[[nodiscard]] inline std::string_view leading_word(std::string_view text, std::string_view others) {
  std::size_t size = 0;
  while (size < text.size() && (is_letter_or_digit(text[size]) || others.find(text[size]) != std::string_view::npos)) {
    ++size;
  }
  return text.substr(0, size);
}

constexpr std::size_t kMaxKernelDetail = 120;

// Details are shown and compared: printable, and never long.
inline void add_detail(Signal& signal, std::string_view key, std::string_view value) {
  if (!value.empty()) signal.details.push_back({std::string(key), printable(value, kMaxKernelDetail)});
}
inline void add_detail(Signal& signal, std::string_view key, std::optional<std::uint64_t> value) {
  if (value) signal.details.push_back({std::string(key), std::to_string(*value)});
}

}  // namespace weft::health
