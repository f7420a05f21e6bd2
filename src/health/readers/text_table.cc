#include "health/readers/text_table.h"

#include <functional>

namespace weft::health {

// The slot that has `text`, or the empty one where it belongs.
std::size_t TextTable::slot_of(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(text)&mask;
  while (slots_[slot] != 0 && at(slots_[slot] - 1) != text) slot = (slot + 1) & mask;
  return slot;
}

void TextTable::grow() {
  slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, 0);
  for (std::uint32_t i = 0; i < size(); ++i) slots_[slot_of(at(i))] = i + 1;
}

std::uint32_t TextTable::add(std::string_view text) {
  if (3 * (size() + 1) > 2 * slots_.size()) grow();
  const std::size_t slot = slot_of(text);
  if (slots_[slot] == 0) {
    bytes_ += text;
    starts_.push_back(bytes_.size());
    slots_[slot] = static_cast<std::uint32_t>(size());
  }
  return slots_[slot] - 1;
}

std::optional<std::uint32_t> TextTable::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(text)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

void TextTable::shrink_to_fit() {
  bytes_.shrink_to_fit();
  starts_.shrink_to_fit();
}

}  // namespace weft::health
