// Component counts of published designs.
#include "../published.h"
#include "base/test_places.h"
#include "report.h"

namespace weft::validation {

void counts(Report& report) {
  const std::vector<published::Row> rows = published::all_rows(source_dir());
  std::size_t wrong = 0;
  using Align = Column::Align;
  TableSection table{"counts",
                     "Component counts",
                     {{"source", "Source", Align::left, false},
                      {"design", "Design", Align::left, false},
                      {"quantity", "Quantity", Align::left, false},
                      {"published", "Published", Align::right, false},
                      {"weft", "weft", Align::right, false},
                      {"error_percent", "Error", Align::right, false}},
                     {}};
  for (const published::Row& row : rows) {
    wrong += row.found != row.expected ? 1U : 0U;
    const double error = row.expected == 0
                             ? (row.found == 0 ? 0.0 : 1.0)
                             : static_cast<double>(row.found - row.expected) / static_cast<double>(row.expected);
    table.rows.push_back({row.source, row.design, row.quantity, row.expected, row.found, percent(error)});
  }
  report.heading("Component counts");
  report.print(table);
  report.say(fmt::format("{} of {} published figures come out exactly.", rows.size() - wrong, rows.size()));
  report.hold("published counts that differ", static_cast<double>(wrong) / static_cast<double>(rows.size()), 0);
}

}  // namespace weft::validation
