// Lists of small numbers as network devices write them: "3-4", "10,21,36", "1-3,7". Shared by the readers of all
// dialects. The size of a list is bounded by the allowed range, not by the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::config {

// Digits only, at most 18; nullopt for anything else.
[[nodiscard]] std::optional<std::int64_t> parse_digits(std::string_view text);

// Sorted, without duplicates. nullopt if the text is not such a list or exceeds low..high.
[[nodiscard]] std::optional<std::vector<int>> parse_number_list(std::string_view text, int low, int high);

// Fields between separators, trimmed; empty fields are kept. At most `limit` fields.
[[nodiscard]] std::vector<std::string_view> split_text(std::string_view text, char separator,
                                                       std::size_t limit = 100'000);

}  // namespace weft::config
