// Lists of small numbers as network devices write them: "3-4", "10,21,36", "1-3,7". Shared by the readers of the
// dialects. Bounded by the range that is allowed, whatever the text says.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::config {

// Digits only, at most 18 of them; nothing for anything else.
[[nodiscard]] std::optional<std::int64_t> parse_digits(std::string_view text);

// Ascending and each once. Nothing when the text is no such list or leaves low..high.
[[nodiscard]] std::optional<std::vector<int>> parse_number_list(std::string_view text, int low, int high);

// Pieces between separators, without blanks around them; empty pieces are kept. At most `limit` pieces.
[[nodiscard]] std::vector<std::string_view> split_text(std::string_view text, char separator,
                                                       std::size_t limit = 100'000);

}  // namespace weft::config
