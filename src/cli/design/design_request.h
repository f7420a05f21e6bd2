// Values of `weft design` and `weft init`, by the names of their options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/framework/parser.h"
#include "design/designer.h"

namespace weft::cli {

// Options other than the size.
[[nodiscard]] std::vector<Option> design_choice_options();

// Sets the value of --`option`; an error says what is wrong with `value`, without the option's name.
[[nodiscard]] Status set_design_value(design::DesignRequest& request, std::string_view option,
                                      const std::string& value);
// Every option given of those that set_design_value() knows; the first invalid one is an error.
[[nodiscard]] Status read_design_options(const Command& command, const Arguments& arguments,
                                         design::DesignRequest& request);

}  // namespace weft::cli
