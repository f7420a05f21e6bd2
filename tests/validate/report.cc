#include "report.h"

#include <fmt/format.h>

namespace weft::validation {
namespace {

std::string text_of(const Cell& cell) {
  if (!cell.shown.empty()) return cell.shown;
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&cell.value)) return fmt::format("{:g}", *number);
  return {};
}

}  // namespace

Cell percent(double share, bool sign) {
  const double value = 100 * share;
  return {value, sign ? fmt::format("{:+.1f} %", value) : fmt::format("{:.1f} %", value)};
}

void Report::heading(const std::string& title) const {
  if (markdown_) {
    fmt::print("\n### {}\n", title);
  } else {
    fmt::print("\n== {}\n", title);
  }
}

void Report::say(const std::string& sentence) const { fmt::print("\n{}\n", sentence); }

void Report::print(const TableSection& table) const {
  if (!markdown_) {
    Document document;
    document.kind = "validation";
    document.sections.emplace_back(table);
    fmt::print("\n{}", write(document, {}));
    return;
  }
  fmt::print("\n**{}**\n\n|", table.title);
  for (const Column& column : table.columns) fmt::print(" {} |", column.title);
  fmt::print("\n|");
  for (const Column& column : table.columns) fmt::print("{}|", column.align == Column::Align::right ? "---:" : "---");
  fmt::print("\n");
  for (const std::vector<Cell>& row : table.rows) {
    fmt::print("|");
    for (const Cell& cell : row) fmt::print(" {} |", text_of(cell));
    fmt::print("\n");
  }
}

void Report::hold(const std::string& what, double reached, double bar) {
  const bool met = reached <= bar;
  const std::string line = fmt::format("{}{}: {:.1f} %, bar {:.1f} %{}", markdown_ ? "- " : "  ", what, 100 * reached,
                                       100 * bar, met ? "" : ": MISSED");
  fmt::print("{}\n", line);
  if (!met) missed_.push_back(line);
}

}  // namespace weft::validation
