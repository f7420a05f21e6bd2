// The formats of a document for people: aligned tables, facts and notes, fitted to the width of a terminal. Part of
// document.cc, which has the formats for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/document.h"

namespace weft {

[[nodiscard]] std::string write_document_text(const Document& document, const OutputStyle& style);

// The cell, or an empty one where the row is shorter.
[[nodiscard]] const Cell& cell_at(const std::vector<Cell>& row, std::size_t column);
// Its number in the fewest digits that read back as the same; "" if it is not a finite number.
[[nodiscard]] std::string number_text(const Cell& cell);

}  // namespace weft
