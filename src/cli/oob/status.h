// Reads power states: shared by `weft oob status` and `weft oob power status`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cli/framework/context.h"
#include "oob/power/status_report.h"

namespace weft::cli {

// CLUSTER and HOSTS are the arguments from `first` on.
[[nodiscard]] Exit run_oob_status(Context& context, std::size_t first);
[[nodiscard]] Option oob_identity_option();
// Folded rows for people, one row per device for programs.
[[nodiscard]] oob::StatusRows oob_rows(OutputFormat format);

}  // namespace weft::cli
