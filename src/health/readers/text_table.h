// Texts by dense numbers: each different text is stored once. For series, whose names and labels repeat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::health {

class TextTable {
 public:
  // The number of `text`, which is added if it is new. Numbers count from 0 in the order of addition.
  std::uint32_t add(std::string_view text);
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;
  // Valid until the next add().
  [[nodiscard]] std::string_view at(std::uint32_t number) const {
    return {bytes_.data() + starts_[number], starts_[number + 1] - starts_[number]};
  }
  [[nodiscard]] std::size_t size() const { return starts_.size() - 1; }
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  void shrink_to_fit();

 private:
  [[nodiscard]] std::size_t slot_of(std::string_view text) const;
  void grow();

  std::string bytes_;
  std::vector<std::size_t> starts_ = {0};
  std::vector<std::uint32_t> slots_;  // open addressing: number + 1, or 0; a power of two, at most two thirds full
};

}  // namespace weft::health
