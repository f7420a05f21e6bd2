#include "html/document_parts.h"

#include <fmt/format.h>

#include <variant>

#include "base/text.h"
#include "html/svg.h"

namespace weft::html {
namespace {

std::string escaped(std::string_view text) { return picture::xml_escape(text); }

}  // namespace

std::string cell_text(const Cell& cell) {
  if (!cell.shown.empty()) return cell.shown;
  if (const auto* text = std::get_if<std::string>(&cell.value)) return text->empty() ? "-" : *text;
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*number);
  if (const auto* value = std::get_if<double>(&cell.value)) return fmt::format("{:g}", *value);
  return "-";
}

std::string facts_section(const FactsSection& facts, std::string_view title) {
  std::string out;
  append_format(out, "<section aria-label=\"{0}\"><h2>{0}</h2>\n<dl class=\"facts\">\n", escaped(title));
  for (const Fact& fact : facts.facts) {
    append_format(out, "<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(fact.title), escaped(cell_text(fact.value)));
  }
  return out + "</dl></section>\n";
}

std::string table_section(const TableSection& table) {
  std::string out;
  append_format(out,
                "<section class=\"wide\" aria-label=\"{0}\"><h2>{0}</h2>\n<div class=\"scroll\" tabindex=\"0\" "
                "role=\"region\" aria-label=\"{0}\"><table>\n<caption>{0}</caption><thead><tr>",
                escaped(table.title));
  const auto kind = [](const Column& column) { return column.align == Column::Align::right ? " class=\"n\"" : ""; };
  for (const Column& column : table.columns) {
    append_format(out, "<th scope=\"col\"{}>{}</th>", kind(column), escaped(column.title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    append_format(out, "<tr><th scope=\"row\"{}>{}</th>", kind(table.columns[0]), escaped(cell_text(row.front())));
    for (std::size_t i = 1; i < row.size(); ++i) {
      append_format(out, "<td{}>{}</td>", kind(table.columns[i]), escaped(cell_text(row[i])));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></section>\n";
}

std::string document_sections(const Document& document) {
  std::string out;
  for (const auto& section : document.sections) {
    if (const auto* facts = std::get_if<FactsSection>(&section)) out += facts_section(*facts, "Figures");
    const auto* table = std::get_if<TableSection>(&section);
    if (table != nullptr && !table->rows.empty()) out += table_section(*table);
  }
  return out;
}

std::string swatch(std::string_view color) {
  return fmt::format(
      "<svg class=\"weft-picture\" width=\"14\" height=\"14\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect "
      "width=\"14\" height=\"14\" rx=\"2\" fill=\"{}\"/></svg>",
      color);
}

}  // namespace weft::html
