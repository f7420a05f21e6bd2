// `make validate`: weft beside published figures, with the error of each, good and bad. With --markdown it prints the
// section of docs/validation.md that is made from it.
#include <cmath>
#include <string_view>

#include "../published.h"
#include "base/document.h"

int main(int argc, char** argv) {
  using namespace weft;
  const bool markdown = argc > 1 && std::string_view(argv[1]) == "--markdown";
  const std::vector<published::Row> rows = published::all_rows(WEFT_SOURCE_DIR);
  std::int64_t wrong = 0;
  if (markdown) fmt::print("| Source | Design | Quantity | Published | weft | Error |\n|---|---|---|---:|---:|---:|\n");
  Document document;
  document.kind = "validation";
  using Align = Column::Align;
  TableSection table{"counts",
                     "Component counts",
                     {{"source", "Source", Align::left, false},
                      {"design", "Design", Align::left, false},
                      {"quantity", "Quantity", Align::left, false},
                      {"published", "Published", Align::right, false},
                      {"weft", "weft", Align::right, false},
                      {"error_percent", "Error (%)", Align::right, false}},
                     {}};
  for (const published::Row& row : rows) {
    wrong += row.found != row.expected ? 1 : 0;
    const double error =
        row.expected == 0 ? (row.found == 0 ? 0.0 : 100.0)
                          : 100.0 * static_cast<double>(row.found - row.expected) / static_cast<double>(row.expected);
    if (markdown) {
      fmt::print("| {} | {} | {} | {} | {} | {:.1f} % |\n", row.source, row.design, row.quantity, row.expected,
                 row.found, error);
    }
    table.rows.push_back(
        {row.source, row.design, row.quantity, row.expected, row.found, Cell(error, fmt::format("{:.1f}", error))});
  }
  document.notes.push_back(fmt::format("{} of {} published figures come out exactly.",
                                       rows.size() - static_cast<std::size_t>(wrong), rows.size()));
  document.sections.emplace_back(std::move(table));
  if (markdown) {
    fmt::print("\n{}\n", document.notes.front());
  } else {
    fmt::print("{}", write(document, {}));
  }
  return wrong == 0 ? 0 : 1;
}
