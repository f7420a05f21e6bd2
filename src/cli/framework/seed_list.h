// The option --seeds: a number of seeds from --seed on, or their list.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/framework/option_reader.h"

namespace weft::cli {

// Without the option, `usual` seeds. Empty if it is invalid, which the reader keeps.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> read_seed_list(OptionReader& reader, std::int64_t usual);

}  // namespace weft::cli
