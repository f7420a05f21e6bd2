// How results fit the terminal: its width, and the pager for results longer than the screen, as git has it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/framework/io.h"

namespace weft::cli {

// Columns that tables on standard output may use: COLUMNS if it is a number, else those of the terminal, else 0 (any).
// COLUMNS counts on a pipe too; shells set it without exporting it, so a script that has it has asked for it.
[[nodiscard]] std::size_t output_width(const Io& io);
// Columns of help pages: at most 100, which stay legible.
[[nodiscard]] std::size_t help_width(const Io& io);

// Fills in columns and rows of the terminal at standard output, and the pager of this process.
void attach_terminal(Io& io);

// The pager to use: WEFT_PAGER, else `configured`, else PAGER, else less; "" for none (`cat`).
[[nodiscard]] std::string pager_of(const Io& io, const std::string& configured);
// Writes a result to standard output, through the pager if it is longer than the terminal's screen.
[[nodiscard]] Status write_paged(const Io& io, std::string_view text, const std::string& pager);

}  // namespace weft::cli
