#include "netsim/views/collective_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "netsim/views/result_cells.h"

namespace weft::netsim {
namespace {

constexpr std::int64_t kElement = 4;  // float

bool reduces(Collective operation) {
  return operation == Collective::all_reduce || operation == Collective::reduce_scatter;
}

Cell gigabytes_cell(double bytes_per_second) {
  const double value = std::round(bytes_per_second / 1e6) / 1e3;
  return {value, fmt::format("{:.2f}", value)};
}

double average_bus_bandwidth(const CollectiveContext& context, const std::vector<CollectiveRow>& rows,
                             Fidelity fidelity) {
  double sum = 0;
  std::size_t count = 0;
  for (const CollectiveRow& row : rows) {
    if (row.fidelity != fidelity || !row.complete) continue;
    sum += bus_bandwidth(context, row);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

FactsSection facts_of(const CollectiveContext& context, const std::vector<CollectiveRow>& rows, Fidelity finest) {
  FactsSection facts;
  facts.key = "summary";
  facts.title = "Collective";
  const auto add = [&](const char* key, const char* title, Cell cell) {
    facts.facts.push_back({key, title, std::move(cell)});
  };
  add("network", "Network", context.where);
  add("operation", "Operation", Cell(to_text(context.operation)));
  add("algorithm", "Algorithm", Cell(to_text(context.algorithm)));
  add("ranks", "Ranks", count_cell(context.ranks));
  add("ranks_per_node", "Ranks per node", count_cell(context.ranks_per_node));
  add("channels", "Channels", count_cell(context.channels));
  add("fidelity", "Fidelity", Cell(to_text(finest)));
  add("transport", "Transport", context.transport);
  add("routing", "Routing", context.routing);
  const double average = average_bus_bandwidth(context, rows, finest);
  add("average_busbw_gb_per_s", "Avg bus bandwidth",
      Cell(std::round(average / 1e6) / 1e3, fmt::format("{:.2f} GB/s", average / 1e9)));
  return facts;
}

// Error of a row against the next, if that has the same size.
Cell error_cell(const std::vector<CollectiveRow>& rows, std::size_t i) {
  if (i + 1 >= rows.size() || rows[i + 1].bytes != rows[i].bytes || rows[i + 1].time.count() <= 0) return {};
  if (!rows[i].complete || !rows[i + 1].complete) return {};
  const auto wanted = static_cast<double>(rows[i + 1].time.count());
  const double percent = std::round((static_cast<double>(rows[i].time.count()) - wanted) / wanted * 1e4) / 100;
  return {percent, fmt::format("{:+.1f} %", percent)};
}

}  // namespace

double algorithm_bandwidth(const CollectiveRow& row) {
  if (row.time.count() <= 0) return 0;
  return static_cast<double>(row.bytes.count()) * 1e12 / static_cast<double>(row.time.count());
}

double bus_bandwidth(const CollectiveContext& context, const CollectiveRow& row) {
  return algorithm_bandwidth(row) * bus_factor(context.operation, context.ranks);
}

std::int64_t element_count(const CollectiveContext& context, Bytes bytes) {
  const std::int64_t all = bytes.count() / kElement;
  switch (context.operation) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return all / std::max<std::int64_t>(context.ranks, 1);
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::send_recv:
      break;
  }
  return all;
}

Document collective_document(const CollectiveContext& context, const std::vector<CollectiveRow>& rows) {
  Fidelity finest = rows.empty() ? Fidelity::flow : rows.front().fidelity;
  Fidelity coarsest = finest;
  for (const CollectiveRow& row : rows) {
    finest = std::max(finest, row.fidelity);
    coarsest = std::min(coarsest, row.fidelity);
  }
  const bool several = finest != coarsest;
  TableSection table;
  table.key = "sizes";
  table.title = "Out of place";
  table.columns = {right_column("size_bytes", "size (B)"),
                   right_column("count", "count (elements)"),
                   left_column("type", "type"),
                   left_column("redop", "redop"),
                   right_column("time_us", "time (us)"),
                   right_column("algbw_gb_per_s", "algbw (GB/s)"),
                   right_column("busbw_gb_per_s", "busbw (GB/s)"),
                   left_column("bound", "bounded by"),
                   {.key = "fidelity", .title = "fidelity", .wide = !several},
                   {.key = "error_percent", .title = "error", .align = Column::Align::right, .wide = !several},
                   {.key = "complete", .title = "complete", .wide = true}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CollectiveRow& row = rows[i];
    // The time of a stopped run does not describe the collective.
    const auto when_complete = [&](Cell cell) { return row.complete ? std::move(cell) : Cell(); };
    table.rows.push_back({Cell(row.bytes.count()), Cell(element_count(context, row.bytes)), "float",
                          reduces(context.operation) ? "sum" : "none", when_complete(microseconds_cell(row.time)),
                          when_complete(gigabytes_cell(algorithm_bandwidth(row))),
                          when_complete(gigabytes_cell(bus_bandwidth(context, row))), row.bound,
                          Cell(to_text(row.fidelity)), error_cell(rows, i), Cell(row.complete)});
  }
  Document document;
  document.kind = "collective";
  document.sections.emplace_back(facts_of(context, rows, finest));
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::netsim
