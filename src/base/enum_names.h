// Finds an enumerator by its name: the inverse of to_text().
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>

namespace weft {

// In a table with one name per enumerator, in their order and counted from 0.
template <class Enum, class Names>
[[nodiscard]] constexpr std::optional<Enum> find_enum(const Names& names, std::string_view name) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

// Among these enumerators, by their to_text() names.
template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> find_enum(std::initializer_list<Enum> values, std::string_view name) {
  for (const Enum value : values) {
    if (to_text(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace weft
