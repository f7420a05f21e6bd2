#include "config/number_list.h"

#include <algorithm>

#include "base/text.h"

namespace weft::config {

std::optional<std::int64_t> parse_digits(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::vector<std::string_view> split_text(std::string_view text, char separator, std::size_t limit) {
  std::vector<std::string_view> pieces;
  while (pieces.size() + 1 < limit) {
    const std::size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    pieces.push_back(trim(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  pieces.push_back(trim(text));
  return pieces;
}

std::optional<std::vector<int>> parse_number_list(std::string_view text, int low, int high) {
  std::vector<bool> in(static_cast<std::size_t>(high - low) + 1, false);
  for (const std::string_view piece : split_text(text, ',')) {
    const std::size_t dash = piece.find('-');
    const auto first = parse_digits(trim(piece.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : parse_digits(trim(piece.substr(dash + 1)));
    if (!first || !last || *first < low || *last > high || *first > *last) return std::nullopt;
    std::fill(in.begin() + (*first - low), in.begin() + (*last - low) + 1, true);
  }
  std::vector<int> numbers;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i]) numbers.push_back(low + static_cast<int>(i));
  }
  return numbers;
}

}  // namespace weft::config
