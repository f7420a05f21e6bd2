// Parts of a page from a Document: cells, facts, tables, and the square of a color in a legend. All text is escaped.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"

namespace weft::html {

// The text of a cell for people; "-" for nothing. Not escaped.
[[nodiscard]] std::string cell_text(const Cell& cell);
// A <section> with a <dl> (class "facts").
[[nodiscard]] std::string facts_section(const FactsSection& facts, std::string_view title);
// A <section> with a table that scrolls sideways where it is too wide.
[[nodiscard]] std::string table_section(const TableSection& table);
// Every section of a document that is not empty, and none of its notes.
[[nodiscard]] std::string document_sections(const Document& document);
// A square of a color, for a legend.
[[nodiscard]] std::string swatch(std::string_view color);

}  // namespace weft::html
