// Reads the file of --faults (`weft schema faults`), or the built-in fault model.
#pragma once

#include <optional>

#include "cli/framework/context.h"
#include "twin/fault_model.h"

namespace weft::cli {

// Reports problems with the sources of `loaded`. Returns the exit code if the file cannot be used.
[[nodiscard]] std::optional<Exit> read_fault_file(Context& context, model::Loaded& loaded, twin::FaultModel& faults);

}  // namespace weft::cli
