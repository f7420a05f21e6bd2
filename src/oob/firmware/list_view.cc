#include "oob/firmware/list_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/host_range.h"
#include "base/text.h"

namespace weft::oob {
namespace {

constexpr auto kRight = Column::Align::right;
using Targets = std::vector<std::uint32_t>;

struct NaturalLess {
  bool operator()(const std::string& a, const std::string& b) const {
    if (natural_less(a, b)) return true;
    return !natural_less(b, a) && a < b;
  }
};

std::string shown(const std::string& text) { return text.empty() ? "-" : text; }

std::string state_of(const FirmwareItem& item) {
  if (item.previous) return "stored image";
  std::string text = item.state.empty() ? "" : to_lower(item.state);
  const bool bad = item.health == Health::critical || item.health == Health::warning;
  // BMCs give absent parts any health.
  if (bad && item.state != "Absent") text += (text.empty() ? "" : ", ") + std::string(to_text(item.health));
  return text;
}

std::string updateable_of(const FirmwareItem& item) { return !item.updateable ? "" : *item.updateable ? "yes" : "no"; }

// The versions of one component of one machine: several parts may have one name.
using Versions = std::set<std::string, NaturalLess>;

TableSection differences(const Inventory& inventory, const FirmwareFleet& fleet) {
  std::map<std::string, std::map<std::string, std::map<std::uint32_t, Versions>, NaturalLess>, NaturalLess> all;
  for (const auto& [target, device] : fleet.devices()) {
    const std::string model = model_of(inventory.targets()[target], device.identity);
    for (const FirmwareItem& item : device.firmware.items) {
      if (is_running(item) && !item.version.empty()) all[model][item.component][target].insert(item.version);
    }
  }
  TableSection table{"differences",
                     "Versions that differ",
                     {{"model", "Model"},
                      {"component", "Component"},
                      {"version", "Version"},
                      {"count", "Count", kRight},
                      {"devices", "Devices"}},
                     {}};
  for (const auto& [model, components] : all) {
    for (const auto& [component, devices] : components) {
      Consolidation same;
      for (const auto& [target, versions] : devices) same.add(fmt::format("{}", fmt::join(versions, ", ")), target);
      const std::vector<FoldedRow> rows = same.rows();
      if (rows.size() < 2) continue;
      for (const FoldedRow& row : rows) {
        table.rows.push_back(
            {model, component, row.key, std::uint64_t{row.targets.size()}, inventory.fold(row.targets)});
      }
    }
  }
  return table;
}

TableSection findings_of(const Inventory& inventory, const FirmwareFleet& fleet, const FirmwareBaseline& baseline,
                         bool each_row, bool& has_findings) {
  using Key = std::tuple<int, std::string, std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, Targets> found;
  for (const auto& [target, device] : fleet.devices()) {
    const Target& machine = inventory.targets()[target];
    for (const FirmwareItem& item : device.firmware.items) {
      for (const FirmwareFinding& one : judge_firmware(baseline, device.identity, machine.model, item)) {
        if (one.severity != Severity::note) has_findings = true;
        const int rank = one.severity == Severity::error ? 0 : one.severity == Severity::warning ? 1 : 2;
        Targets& targets = found[{rank, one.rule, item.component, item.version, one.expected, one.text, one.url}];
        if (targets.empty() || targets.back() != target) targets.push_back(target);
      }
    }
  }
  TableSection table{"findings",
                     "Findings",
                     {{"severity", "Severity"},
                      {"rule", "Rule"},
                      {"component", "Component"},
                      {"version", "Version"},
                      {"expected", "Expected"}},
                     {}};
  if (!each_row) table.columns.push_back({"count", "Count", kRight});
  table.columns.push_back({each_row ? "device" : "devices", each_row ? "Device" : "Devices"});
  table.columns.push_back({"finding", "Finding"});
  table.columns.push_back({"source", "Source"});
  const auto add = [&](const Key& key, const Targets& targets) {
    const auto& [rank, rule, component, version, expected, text, url] = key;
    std::vector<Cell> row{rank == 0   ? "error"
                          : rank == 1 ? "warning"
                                      : "note",
                          rule, component, version, expected.empty() ? Cell() : Cell(expected)};
    if (!each_row) row.emplace_back(std::uint64_t{targets.size()});
    row.emplace_back(inventory.fold(targets));
    row.emplace_back(told(text));
    row.emplace_back(url.empty() ? Cell() : Cell(url));
    table.rows.push_back(std::move(row));
  };
  for (const auto& [key, targets] : found) {
    if (!each_row) add(key, targets);
    for (std::size_t i = 0; each_row && i < targets.size(); ++i) add(key, {targets[i]});
  }
  return table;
}

TableSection components(const Inventory& inventory, const FirmwareFleet& fleet) {
  using Row = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<std::string, std::map<std::string, std::map<Row, Targets>, NaturalLess>, NaturalLess> all;
  for (const auto& [target, device] : fleet.devices()) {
    const std::string model = model_of(inventory.targets()[target], device.identity);
    for (const FirmwareItem& item : device.firmware.items) {
      Targets& targets =
          all[model][item.component][{item.version, item.name, updateable_of(item), state_of(item), item.lowest}];
      if (targets.empty() || targets.back() != target) targets.push_back(target);
    }
  }
  TableSection table{"components",
                     "Components",
                     {{"model", "Model"},
                      {"component", "Component"},
                      {"name", "Name", Column::Align::left, true},
                      {"version", "Version"},
                      {"updateable", "Updateable"},
                      {"state", "State"},
                      {"lowest", "Lowest supported", Column::Align::left, true},
                      {"count", "Count", kRight},
                      {"devices", "Devices"}},
                     {}};
  for (const auto& [model, by_component] : all) {
    for (const auto& [component, rows] : by_component) {
      for (const auto& [row, targets] : rows) {
        const auto& [version, name, updateable, state, lowest] = row;
        table.rows.push_back({model, component, shown(name), shown(version), shown(updateable), shown(state),
                              shown(lowest), std::uint64_t{targets.size()}, inventory.fold(targets)});
      }
    }
  }
  return table;
}

Cell or_none(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

TableSection each_component(const Inventory& inventory, const FirmwareFleet& fleet) {
  TableSection table{"firmware",
                     "",
                     {{"device", "Device"},
                      {"vendor", "Vendor"},
                      {"model", "Model"},
                      {"component", "Component"},
                      {"id", "Id"},
                      {"name", "Name"},
                      {"version", "Version"},
                      {"updateable", "Updateable"},
                      {"state", "State"},
                      {"health", "Health"},
                      {"stored", "Stored image"},
                      {"software", "Software"},
                      {"lowest", "Lowest supported"}},
                     {}};
  for (const auto& [target, device] : fleet.devices()) {
    const Target& machine = inventory.targets()[target];
    for (const FirmwareItem& item : device.firmware.items) {
      table.rows.push_back({machine.name, or_none(device.identity.manufacturer), model_of(machine, device.identity),
                            item.component, item.id, or_none(item.name), or_none(item.version),
                            item.updateable ? Cell(*item.updateable) : Cell(), or_none(item.state),
                            to_text(item.health), item.previous, item.software, or_none(item.lowest)});
    }
  }
  return table;
}

TableSection unread_parts(const Inventory& inventory, const FirmwareFleet& fleet) {
  std::map<std::pair<std::string, std::string>, Targets> same;
  for (const auto& [target, device] : fleet.devices()) {
    for (const UnreadLog& part : device.firmware.unread) {
      Targets& targets = same[{part.log, reason_of(part.error)}];
      if (targets.empty() || targets.back() != target) targets.push_back(target);
    }
  }
  TableSection table{"unread",
                     "Could not be read",
                     {{"part", "Part"}, {"count", "Count", kRight}, {"devices", "Devices"}, {"reason", "Why"}},
                     {}};
  table.rows.reserve(same.size());
  for (const auto& [key, targets] : same) {
    table.rows.push_back({key.first, std::uint64_t{targets.size()}, inventory.fold(targets), key.second});
  }
  return table;
}

constexpr std::size_t kMaxUnmatched = 3;  // in words

// The number of wanted versions whose patterns name no component that was read: a misspelled model must not look like a
// match. Says which.
std::size_t note_unmatched(Document& document, const Inventory& inventory, const FirmwareFleet& fleet,
                           const FirmwareBaseline& baseline) {
  const auto is_there = [&](const ComponentPattern& what) {
    return std::any_of(fleet.devices().begin(), fleet.devices().end(), [&](const auto& entry) {
      const DeviceFirmware& device = entry.second;
      const std::string& model = inventory.targets()[entry.first].model;
      const std::vector<FirmwareItem>& items = device.firmware.items;
      return std::any_of(items.begin(), items.end(), [&](const FirmwareItem& item) {
        return is_running(item) && !item.version.empty() && is_about(what, device.identity, model, item);
      });
    });
  };
  std::vector<std::string> names;
  for (const WantedVersion& wanted : baseline.components) {
    if (!is_there(wanted.what)) names.push_back(describe_pattern(wanted.what));
  }
  const std::size_t count = names.size();
  if (count == 0) return 0;
  names.resize(std::min(count, kMaxUnmatched));
  if (count > kMaxUnmatched) names.push_back(fmt::format("{} more", count - kMaxUnmatched));
  document.notes.push_back(
      fmt::format("the baseline has {}, which no machine that was read has", fmt::join(names, ", ")));
  return count;
}

}  // namespace

std::string model_of(const Target& target, const BmcIdentity& identity) {
  return identity.model.empty() ? target.model : identity.model;
}

FirmwareReport firmware_report(const Inventory& inventory, const FirmwareFleet& fleet, const FirmwareBaseline* baseline,
                               const std::vector<Unreached>& unreached, bool each_row) {
  FirmwareReport report;
  Document& document = report.document;
  document.kind = "oob-firmware";
  TableSection differing = differences(inventory, fleet);
  const bool uniform = differing.rows.empty();
  if (!uniform || each_row) document.sections.emplace_back(std::move(differing));
  if (baseline != nullptr) {
    TableSection found = findings_of(inventory, fleet, *baseline, each_row, report.has_findings);
    const std::size_t unmatched = note_unmatched(document, inventory, fleet, *baseline);
    if (found.rows.empty() && !each_row && (unmatched < baseline->components.size() || baseline->components.empty()))
      document.notes.emplace_back("no component differs from the baseline");
    if (!found.rows.empty() || each_row) document.sections.emplace_back(std::move(found));
  }
  document.sections.emplace_back(each_row ? each_component(inventory, fleet) : components(inventory, fleet));
  TableSection unread = unread_parts(inventory, fleet);
  report.is_incomplete = !unread.rows.empty() || !unreached.empty();
  if (!unread.rows.empty()) document.sections.emplace_back(std::move(unread));
  add_unreached(document, inventory, unreached);
  if (uniform && fleet.devices().size() > 1)
    document.notes.emplace_back("machines of one model have the same versions");
  return report;
}

}  // namespace weft::oob
