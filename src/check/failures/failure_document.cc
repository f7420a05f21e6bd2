// The table of single failures, and the list of single points of failure.
#include <fmt/format.h>

#include <cmath>

#include "base/host_range.h"
#include "check/failures/failure_analysis.h"

namespace weft::check {
namespace {

using Align = Column::Align;

Cell percent(double value) {
  const double rounded = std::round(value * 10.0) / 10.0;
  return {rounded, fmt::format("{:g}%", rounded)};
}

Column left(std::string key, std::string title) { return {std::move(key), std::move(title), Align::left, false}; }
Column right(std::string key, std::string title) { return {std::move(key), std::move(title), Align::right, false}; }
Column wide(Column column) {
  column.wide = true;
  return column;
}

TableSection failure_table(const model::Cluster& cluster, const FailureAnalysis& analysis) {
  TableSection table{"failures", "Single failures", {}, {}};
  table.columns = {left("failure", "Failure"),
                   left("fabric", "Fabric"),
                   right("count", "Count"),
                   left("worst", "Worst case"),
                   right("servers_lost", "Servers lost"),
                   right("gpus_lost", "GPUs lost"),
                   wide(right("servers_degraded", "Servers degraded")),
                   right("backend_left_percent", "Backend left"),
                   right("storage_left_percent", "Storage left"),
                   right("frontend_left_percent", "Frontend left"),
                   right("oob_left_percent", "OOB left"),
                   wide(right("storage_servers_left_percent", "Storage servers left")),
                   wide(right("devices_unmanaged", "Devices unmanaged")),
                   left("quorum", "Quorum"),
                   left("single_point", "Single point")};
  for (const Failure& failure : analysis.failures()) {
    std::vector<Cell> row = {failure.kind,         failure.fabric ? Cell(model::to_text(*failure.fabric)) : Cell(),
                             failure.count,        failure.worst,
                             failure.loss.servers, failure.loss.gpus,
                             failure.loss.degraded};
    for (int f = 0; f < model::kFabrics; ++f) {
      const auto fabric = static_cast<model::FabricKind>(f);
      row.push_back(cluster.fabric(fabric).present ? percent(failure.loss.left_of(fabric)) : Cell());
    }
    row.push_back(analysis.storage().empty() ? Cell() : percent(failure.storage_left));
    row.emplace_back(failure.loss.unmanaged);
    row.push_back(analysis.control().members.empty() ? Cell() : Cell(failure.quorum ? "kept" : "lost"));
    row.push_back(failure.single ? Cell(failure.single_point() ? "yes" : "no") : Cell());
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Bandwidth by level, where a fabric has more than one.
TableSection level_table(const model::Cluster& cluster, const FailureAnalysis& analysis) {
  TableSection table{"levels", "Remaining bandwidth per level", {}, {}};
  table.columns = {left("failure", "Failure"), left("fabric", "Fabric"), left("worst", "Worst case")};
  for (int level = 0; level < design::kLevels; ++level) {
    const std::string text(to_text(static_cast<design::Level>(level)));
    std::string key = text + "_left_percent";
    for (char& c : key) c = c == ' ' ? '_' : c;
    std::string title = text;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    table.columns.push_back(right(std::move(key), std::move(title)));
  }
  for (const Failure& failure : analysis.failures()) {
    if (!failure.fabric || !cluster.fabric(*failure.fabric).present) continue;
    std::vector<Cell> row = {failure.kind, model::to_text(*failure.fabric), failure.worst};
    for (const design::LevelLoss& level : failure.loss.levels[static_cast<std::size_t>(*failure.fabric)]) {
      row.push_back(level.exists() ? percent(level.left_percent()) : Cell());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string names_of(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const model::DeviceId id : devices) names.push_back(cluster.name_of(id));
  return fold_hosts(std::move(names));
}

void add_points(const model::Cluster& cluster, const FailureAnalysis& analysis, TableSection& table) {
  const auto add = [&](model::FabricKind fabric, const char* what, const std::vector<model::DeviceId>& devices) {
    if (!devices.empty())
      table.rows.push_back({model::to_text(fabric), what, devices.size(), names_of(cluster, devices)});
  };
  for (int f = 0; f < model::kFabrics; ++f) {
    const auto fabric = static_cast<model::FabricKind>(f);
    const FabricWeakness& weak = analysis.weakness(fabric);
    add(fabric, "switch that connects the fabric", weak.cut_switches);
    if (!weak.cut_cables.empty()) {
      const model::Cable& cable = cluster.cable(weak.cut_cables.front());
      table.rows.push_back({model::to_text(fabric), "cable that connects the fabric", weak.cut_cables.size(),
                            fmt::format("{} - {}", cluster.full_port_name(cable.a), cluster.full_port_name(cable.b))});
    }
    if (fabric == model::FabricKind::oob) continue;  // a BMC has one port
    add(fabric, "server with one link", weak.single_homed);
    add(fabric, "server with all links on one switch", weak.one_switch);
  }
}

void add_power(const model::Cluster& cluster, const FailureAnalysis& analysis, TableSection& table) {
  const PowerAnalysis& power = analysis.power();
  for (const PowerWeakness& weak : power.weak) {
    table.rows.push_back({"power",
                          fmt::format("needs {} of {} power supplies, feed {} supplies {}", weak.supplies.needed,
                                      weak.supplies.fitted, design::views::feed_name(weak.feed), weak.on_feed),
                          weak.lost.size(), names_of(cluster, weak.lost)});
  }
  if (!power.one_supply_short.empty()) {
    table.rows.push_back({"power", "needs all of its power supplies", power.one_supply_short.size(),
                          names_of(cluster, power.one_supply_short)});
  }
  const auto add_racks = [&](const char* what, const std::vector<model::RackId>& racks) {
    std::vector<std::string> names;
    names.reserve(racks.size());
    for (const model::RackId id : racks) names.push_back(cluster.rack(id).name);
    if (!names.empty()) table.rows.push_back({"power", what, racks.size(), fold_hosts(std::move(names))});
  };
  add_racks("rack on one feed", power.one_feed);
  add_racks("rack whose PDUs are overloaded after the loss of one feed", power.overloaded);
}

void add_control(const model::Cluster& cluster, const FailureAnalysis& analysis, Document& document) {
  const ControlAnalysis& control = analysis.control();
  if (control.members.empty()) return;
  FactsSection facts{"control_plane", "Control plane", {}};
  facts.facts = {{"etcd_members", "etcd members", names_of(cluster, control.members)},
                 {"quorum", "Quorum", control.quorum},
                 {"most_in_one_rack", "Most members in one rack", control.most_in_rack},
                 {"survives_rack", "Survives the loss of any rack", control.survives(control.most_in_rack)},
                 {"survives_feed", "Survives the loss of any feed", control.survives(control.most_on_feed)},
                 {"survives_row", "Survives the loss of any row", control.survives(control.most_in_row)}};
  document.sections.emplace_back(std::move(facts));
}

void add_storage(const FailureAnalysis& analysis, Document& document) {
  if (analysis.storage().empty()) return;
  TableSection table{"volumes", "Copies of volumes", {}, {}};
  table.columns = {left("volume", "Volume"),
                   left("purpose", "Purpose"),
                   left("system", "System"),
                   right("racks", "Racks"),
                   right("controllers", "Controllers per server"),
                   right("replicas", "Replicas"),
                   left("copy", "Copy on"),
                   left("copy_apart", "On other servers")};
  for (const StorageAnalysis& storage : analysis.storage()) {
    for (const model::VolumeSpec& volume : *storage.system->volumes) {
      const StorageAnalysis* copy =
          volume.replicate_to.has_value() ? analysis.storage_named(*volume.replicate_to) : nullptr;
      table.rows.push_back({volume.name->text, model::text_of(*volume.purpose), storage.system->name->text,
                            storage.racks, storage.controllers, *volume.replicas,
                            volume.replicate_to.has_value() ? Cell(*volume.replicate_to) : Cell(),
                            copy == nullptr ? Cell() : Cell(copy->group != storage.group ? "yes" : "no")});
    }
  }
  if (!table.rows.empty()) document.sections.emplace_back(std::move(table));
}

}  // namespace

Document failures_document(const model::Cluster& cluster, const FailureAnalysis& analysis) {
  Document document;
  document.kind = "failures";
  document.sections.emplace_back(failure_table(cluster, analysis));
  document.sections.emplace_back(level_table(cluster, analysis));
  TableSection points{"single_points", "Single points of failure", {}, {}};
  points.columns = {left("where", "Where"), left("what", "What"), right("count", "Count"), left("names", "Which")};
  add_points(cluster, analysis, points);
  add_power(cluster, analysis, points);
  if (!points.rows.empty()) document.sections.emplace_back(std::move(points));
  add_control(cluster, analysis, document);
  add_storage(analysis, document);
  document.notes.emplace_back(
      "A server is lost when it has too few power supplies left, or when no link connects it to the main part of a "
      "data fabric. A failure is a single point of failure when it also takes down other servers, the quorum, a whole "
      "storage system or the remaining bandwidth of a fabric. The remaining part of a fabric is its bandwidth at the "
      "level that is affected most.");
  return document;
}

}  // namespace weft::check
