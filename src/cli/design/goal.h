// weft design --goal: the search of designs that train a model in time.
#pragma once

#include <vector>

#include "cli/framework/context.h"

namespace weft::cli {

// Options that apply to a search only, --goal included.
[[nodiscard]] std::vector<Option> goal_options();
[[nodiscard]] Exit run_goal(Context& context);

}  // namespace weft::cli
