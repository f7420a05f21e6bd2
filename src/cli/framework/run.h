// The whole command line as one function, so that tests can call it without a process.
#pragma once

#include <string>
#include <vector>

#include "cli/framework/io.h"

namespace weft::cli {

// `words`: the arguments without the program's name.
[[nodiscard]] Exit run_weft(const std::vector<std::string>& words, Io& io);

}  // namespace weft::cli
