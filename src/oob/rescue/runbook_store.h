// The runbooks shipped with weft, and the user's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "oob/rescue/runbook_file.h"

namespace weft::oob {

// Names of the embedded runbooks, sorted.
[[nodiscard]] std::vector<std::string> runbook_names();
// Text of an embedded runbook; empty if there is none of this name.
[[nodiscard]] std::optional<std::string> runbook_text(const std::string& name);
// Reads an embedded runbook, or a file if the name contains '/' or ends in ".yaml" or ".yml". Reports its problems in
// the diagnostics; not_found if it does not exist.
[[nodiscard]] Result<Runbook> open_runbook(const std::string& name, Sources& sources, Diagnostics& diagnostics);

}  // namespace weft::oob
