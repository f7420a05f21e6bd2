// The text of a designed cluster's file, with the comments that tell its owner why it says what it says: the file is
// theirs to read and edit, not a dump of the plan.
#pragma once

#include <string>

#include "design/design_plan.h"

namespace weft::design {

[[nodiscard]] std::string write_file_text(const Plan& plan);

}  // namespace weft::design
