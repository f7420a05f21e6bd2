// Published measurements of collectives.
#include <map>

#include "report.h"
#include "workload/nccl/published_collectives.h"

namespace weft::validation {
namespace {

using Align = Column::Align;

std::string size_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= 1024) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:g} {}", bytes, kUnits[unit]);
}

std::string version_text(std::uint32_t code) { return fmt::format("{}.{}", code / 10'000, code / 100 % 100); }

Cell bar_cell(double error, double bar) {
  if (bar == workload::kNoBar) return percent(error, false);
  return {100 * error, fmt::format("{:.1f} % ({:.0f})", 100 * error, 100 * bar)};
}

}  // namespace

void collectives(Report& report) {
  const workload::CollectiveTables tables = workload::read_published_collectives();
  TableSection summary{"collective_tables",
                       "Collectives, by table: geometric mean of the error, bar in brackets",
                       {{"table", "Table", Align::left, false},
                        {"rows", "Rows", Align::right, false},
                        {"launch_us", "Launch (us)", Align::right, false},
                        {"nccl", "NCCL", Align::left, false},
                        {"below", "Below 1 MiB", Align::right, false},
                        {"above", "From 1 MiB", Align::right, false},
                        {"worst", "Worst", Align::right, false}},
                       {}};
  TableSection rows{"collectives",
                    "Collectives, by row (us, or GB/s of bus bandwidth; error of the time)",
                    {{"table", "Table", Align::left, false},
                     {"bytes", "Size", Align::right, false},
                     {"measured", "Measured", Align::right, false},
                     {"weft", "weft", Align::right, false},
                     {"error", "Error", Align::right, false},
                     {"choice", "Choice", Align::left, false}},
                    {}};
  for (const auto& [table, bars] : tables.all) {
    workload::CollectiveErrors errors;
    errors.add(table);
    summary.rows.push_back({table.name, table.rows.size(), table.launch, version_text(table.machine.version),
                            bar_cell(errors.below(), bars.below), bar_cell(errors.above(), bars.above),
                            bar_cell(errors.worst(), bars.worst)});
    for (const workload::CollectiveRow& row : table.rows) {
      const workload::CollectiveResult result = workload::model_of(table, row);
      rows.rows.push_back({table.name, Cell(row.bytes, size_text(row.bytes)),
                           Cell(row.value, fmt::format("{:.2f}{}", row.value, table.times ? " us" : "")),
                           Cell(result.value, fmt::format("{:.2f}{}", result.value, table.times ? " us" : "")),
                           percent(std::exp(result.off) - 1),
                           fmt::format("{} {} x{}", to_text(result.choice.algorithm), to_text(result.choice.protocol),
                                       result.choice.channels)});
    }
  }
  report.heading("Collectives");
  report.print(summary);
  report.print_detail(rows);
  report.say("Bars:");
  workload::CollectiveErrors sweep;
  sweep.add(tables.all.front().first);
  report.hold(tables.all.front().first.name + ", from 1 MiB", sweep.above(), 0.05);
  report.hold(tables.all.front().first.name + ", below 1 MiB", sweep.below(), 0.15);
}

}  // namespace weft::validation
