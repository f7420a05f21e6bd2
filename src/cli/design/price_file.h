// Reads the file of --prices (`weft schema prices`).
#pragma once

#include <optional>
#include <string>

#include "design/prices.h"
#include "model/load.h"

namespace weft::cli {

// "-": standard input. Problems are in the diagnostics or the read_error of `loaded`; empty if it cannot be used.
[[nodiscard]] std::optional<design::Prices> read_price_file(model::Loaded& loaded, const std::string& path);

}  // namespace weft::cli
