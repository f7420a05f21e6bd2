// weft oob firmware update, and the incomplete updates of the journal.
#pragma once

#include <optional>
#include <vector>

#include "cli/framework/context.h"
#include "oob/firmware/baseline.h"

namespace weft::cli {

[[nodiscard]] std::vector<Option> firmware_update_options();
[[nodiscard]] Exit run_firmware_update(Context& context, const std::optional<oob::FirmwareBaseline>& baseline);
[[nodiscard]] Exit list_open_updates(Context& context);

}  // namespace weft::cli
