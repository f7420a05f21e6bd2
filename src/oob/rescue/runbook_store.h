// The runbooks that come with weft, and those of the user's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "oob/rescue/runbook_file.h"

namespace weft::oob {

// Names of the runbooks in the executable, sorted.
[[nodiscard]] std::vector<std::string> runbook_names();
// The text of one; nothing when there is none.
[[nodiscard]] std::optional<std::string> runbook_text(const std::string& name);
// Reads a runbook of the executable, or a file when the name has a '/' or ends in ".yaml" or ".yml". Says in the
// diagnostics what is wrong with it; not_found when there is none.
[[nodiscard]] Result<Runbook> open_runbook(const std::string& name, Sources& sources, Diagnostics& diagnostics);

}  // namespace weft::oob
