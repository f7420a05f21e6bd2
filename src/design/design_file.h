// Writes a designed cluster as a cluster file, with comments that explain its values: the file is meant to be read and
// edited by its owner. It is as `weft fmt` would write it.
#pragma once

#include <string>

#include "design/design_plan.h"

namespace weft::design {

[[nodiscard]] std::string write_file_text(const Plan& plan);

}  // namespace weft::design
