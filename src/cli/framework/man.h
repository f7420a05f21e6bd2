// The manual pages of section 1, generated from the command tables: weft(1), one page per command, such as
// weft-oob-status(1), and one per group of commands, such as weft-oob(1). Not here: section 5
// (cli/about/format_pages.h).
#pragma once

#include <string>
#include <string_view>

#include "cli/framework/command.h"

namespace weft::cli {

// "weft-oob-status" for "oob status"; the page's name without its section.
[[nodiscard]] std::string man_page_name(std::string_view command);

// weft(1): what weft is, the pages of all commands, and what holds for all of them. `formats`: the pages of section 5.
[[nodiscard]] std::string main_man_page(const std::vector<Choice>& formats);
[[nodiscard]] std::string command_man_page(const Command& command);
// Of a group of commands; there is one of that name.
[[nodiscard]] std::string group_man_page(std::string_view group);

}  // namespace weft::cli
