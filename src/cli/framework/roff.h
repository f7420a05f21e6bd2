// Text as roff source, for manual pages in the macros of man(7). Not here: what the pages say (man.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/command.h"

namespace weft::cli {

// Printed literally: no escapes, no requests, dashes that can be copied to a shell.
[[nodiscard]] std::string roff(std::string_view text);
// Prose: text in backticks is bold.
[[nodiscard]] std::string roff_prose(std::string_view text);
// The first line of a page; `title` in any case.
[[nodiscard]] std::string roff_title(std::string_view title, int section, std::string_view manual);
// Terms with their meanings.
[[nodiscard]] std::string roff_entries(const std::vector<Choice>& entries);

}  // namespace weft::cli
