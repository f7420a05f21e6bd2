// Reachability documents: the matrix, forbidden paths, one traced query.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/host_range.h"
#include "check/reach/reachability.h"

namespace weft::check {
namespace {

std::string cell_text(const ZoneReach& reach) {
  if (reach.gave_up || reach.packets.approximate()) return "not ruled out";
  if (reach.packets.empty()) return "no";
  const std::string services = reach.packets.services();
  return services == "all" ? "yes" : "only " + services;
}

TableSection matrix(const Reachability& reachability) {
  TableSection table;
  table.key = "zones";
  table.title = "Reachability between fabrics";
  table.columns.push_back({"from", "From \\ to", Column::Align::left, false});
  const std::vector<ReachZone>& zones = reachability.zones();
  for (const ReachZone& zone : zones) {
    std::string key = zone.name;
    for (char& c : key) c = c == ' ' ? '_' : c;
    table.columns.push_back({key, zone.name, Column::Align::left, false});
  }
  for (std::size_t from = 0; from < zones.size(); ++from) {
    std::vector<Cell> row{Cell(zones[from].name)};
    for (std::size_t to = 0; to < zones.size(); ++to) {
      std::string text =
          from == to && zones[from].kind == ZoneKind::site ? "-" : cell_text(reachability.between(from, to));
      if (!reachability.allowed(from, to) && reachability.between(from, to).reachable()) text += " !";
      row.emplace_back(std::move(text));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_hops(const Sources& sources, const std::vector<ReachHop>& hops, TableSection& table) {
  std::int64_t number = 0;
  for (const ReachHop& hop : hops) {
    table.rows.push_back({Cell(++number), Cell(hop.where), Cell(hop.what), Cell(sources.describe(hop.place))});
  }
}

TableSection hop_table(std::string key, std::string title) {
  TableSection table;
  table.key = std::move(key);
  table.title = std::move(title);
  table.columns = {{"hop", "Hop", Column::Align::right, false},
                   {"where", "Where", Column::Align::left, false},
                   {"what", "What", Column::Align::left, false},
                   {"place", "Decided by", Column::Align::left, false}};
  return table;
}

}  // namespace

std::string to_text(const ReachPath& path) {
  std::string out = to_text(path.packet) + ":";
  for (const ReachHop& hop : path.hops) out += fmt::format(" {}{}", &hop == &path.hops.front() ? "" : "-> ", hop.where);
  return out;
}

Document reachability_document(const Reachability& reachability) {
  Document document;
  document.kind = "reachability";
  document.sections.emplace_back(matrix(reachability));
  const std::vector<ReachZone>& zones = reachability.zones();
  std::size_t number = 0;
  const auto violations = reachability.violations();
  for (const ReachViolation& violation : violations) {
    const std::string pair = fmt::format("{} reaches {}", zones[violation.from].name, zones[violation.to].name);
    if (violation.path.hops.empty()) {
      document.notes.push_back(pair + " could not be ruled out: too many access lists on the path to evaluate.");
      continue;
    }
    TableSection table =
        hop_table(fmt::format("violation_{}", ++number), fmt::format("{}: {}", pair, to_text(violation.path.packet)));
    add_hops(reachability.sources(), violation.path.hops, table);
    document.sections.emplace_back(std::move(table));
  }
  if (violations.empty()) document.notes.push_back("No packet can pass from one fabric into another.");
  for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
    const bool present = std::any_of(zones.begin(), zones.end(), [&](const ReachZone& zone) {
      return zone.fabric == static_cast<int>(fabric) && zone.kind != ZoneKind::pods;
    });
    if (present) {
      document.notes.push_back(
          fmt::format("{}: rails {} through its switches.", model::to_text(fabric),
                      reachability.rails_joined(fabric) ? "reach each other" : "do not reach each other"));
    }
  }
  for (const std::string& shared : reachability.shared_switches())
    document.notes.push_back("Shared switch: " + shared + ".");
  document.notes.emplace_back(
      "IPv4 packets with genuine source addresses, one direction; switches without a configuration are assumed to "
      "follow the cluster file.");
  return document;
}

Document reach_trace_document(const Reachability& reachability, const std::vector<ReachTry>& tries) {
  Document document;
  document.kind = "reach_trace";
  TableSection summary;
  summary.key = "tries";
  summary.title = "Reachability";
  summary.columns = {{"from", "From", Column::Align::left, false},
                     {"to", "To", Column::Align::left, false},
                     {"reached", "Reached", Column::Align::left, false},
                     {"why", "Packet, or where it is dropped", Column::Align::left, false}};
  std::vector<TableSection> paths;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> blocked;
  for (const ReachTry& one : tries) {
    std::string why;
    for (const ReachHop& stop : one.stopped) {
      if (!why.empty()) why += "; ";
      why += stop.where + ": " + stop.what;
      if (stop.place.known()) why += fmt::format(" ({})", reachability.sources().describe(stop.place));
    }
    const std::string services = one.packets.services();
    if (one.reached) why = one.path ? to_text(one.path->packet) : "could not be ruled out";
    std::string reached = one.reached ? "yes" : "no";
    if (one.reached && !one.whole && one.path) reached = "only " + services;
    if (!one.path) {  // one row for all ports with the same reason
      blocked[{one.to, reached, why}].push_back(one.from);
      continue;
    }
    summary.rows.push_back({Cell(one.from), Cell(one.to), Cell(reached), Cell(why)});
    TableSection table = hop_table(fmt::format("path_{}", paths.size() + 1), fmt::format("{} to {}", one.from, one.to));
    add_hops(reachability.sources(), one.path->hops, table);
    paths.push_back(std::move(table));
  }
  for (const auto& [key, from] : blocked) {
    const auto& [to, reached, why] = key;
    summary.rows.push_back({Cell(fold_hosts(from)), Cell(to), Cell(reached), Cell(why)});
  }
  document.sections.emplace_back(std::move(summary));
  for (TableSection& path : paths) document.sections.emplace_back(std::move(path));
  return document;
}

Result<Document> trace_reach(const Reachability& reachability, std::string_view from, std::string_view to, int protocol,
                             int port) {
  const auto tries = reachability.trace(from, to, protocol, port);
  if (!tries.ok()) return tries.error();
  return reach_trace_document(reachability, *tries);
}

}  // namespace weft::check
