// Outputs of a step, as found in what its job printed: the last line or all of it, and the files that the step
// declared, which assets/pipeline/outputs.sh prints between lines with the token of the run.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pipeline/pipeline.h"

namespace weft::pipeline {

// Line ends at the end of a value are not part of it. `invalid_input`: a file is missing, too long, or not UTF-8. The
// result is left out if nothing uses it and it is not usable.
[[nodiscard]] Result<std::map<std::string, std::string>> read_outputs(const Step& step, std::string_view printed,
                                                                      std::string_view token);

}  // namespace weft::pipeline
