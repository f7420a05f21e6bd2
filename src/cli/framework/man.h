// The manual page, generated from the command tables.
#pragma once

#include <string>

namespace weft::cli {

// weft(1) in roff, for man(7) macros.
[[nodiscard]] std::string man_page();

}  // namespace weft::cli
