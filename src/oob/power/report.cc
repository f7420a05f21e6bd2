#include "oob/power/report.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "base/host_range.h"

namespace weft::oob {
namespace {

constexpr auto kRight = Column::Align::right;

TableSection folded(const Inventory& inventory, const PowerReport& report) {
  TableSection table{"outcomes",
                     "Outcomes",
                     {{"end", "End"},
                      {"devices", "Devices", kRight},
                      {"reason", "Reason"},
                      {"evidence", "Evidence"},
                      {"next", "What to do"},
                      {"hosts", "Hosts"}},
                     {}};
  std::map<std::tuple<PowerEnd, std::string, std::string, std::string>, std::vector<std::uint32_t>> same;
  for (const DeviceOutcome& device : report.devices) {
    const PowerOutcome& outcome = device.outcome;
    same[{outcome.end, outcome.reason, device.earlier ? "ended earlier" : evidence_summary(outcome.evidence),
          outcome.next}]
        .push_back(device.target);
  }
  table.rows.reserve(same.size() + 1);
  for (const auto& [key, targets] : same) {
    table.rows.push_back({to_text(std::get<0>(key)), std::uint64_t{targets.size()}, std::get<1>(key), std::get<2>(key),
                          std::get<3>(key), inventory.fold(targets)});
  }
  if (!report.missing.empty()) {
    table.rows.push_back({to_text(PowerEnd::unknown), std::uint64_t{report.missing.size()},
                          "no longer in the inventory", "", "check them manually", fold_hosts(report.missing)});
  }
  return table;
}

TableSection by_device(const Inventory& inventory, const PowerReport& report) {
  TableSection table{"devices",
                     "Devices",
                     {{"host", "Host"},
                      {"end", "End"},
                      {"reason", "Reason"},
                      {"next", "What to do"},
                      {"sends", "Sends", kRight},
                      {"took_s", "Took s", kRight},
                      {"earlier", "Earlier"},
                      {"evidence", "Evidence"}},
                     {}};
  table.rows.reserve(report.devices.size() + report.missing.size());
  for (const DeviceOutcome& device : report.devices) {
    const PowerOutcome& outcome = device.outcome;
    const double took = static_cast<double>(outcome.took.count()) * 1e-9;
    table.rows.push_back({inventory.targets()[device.target].name, to_text(outcome.end), outcome.reason, outcome.next,
                          outcome.sends, Cell(took, fmt::format("{:.1f}", took)), device.earlier,
                          evidence_text(outcome.evidence)});
  }
  for (const std::string& host : report.missing) {
    table.rows.push_back(
        {host, to_text(PowerEnd::unknown), "no longer in the inventory", "check it manually", 0, 0.0, false, ""});
  }
  return table;
}

// A transient state between off and on: whether a poll sees it is random.
bool passes(const Evidence& item) {
  return item.kind == EvidenceKind::state_seen &&
         (item.text == to_text(PowerState::powering_on) || item.text == to_text(PowerState::powering_off));
}

}  // namespace

std::string evidence_summary(const std::vector<Evidence>& evidence) {
  std::string text;
  std::string last;
  for (const Evidence& item : evidence) {
    if (passes(item) && &item != &evidence.back()) continue;
    std::string part;
    switch (item.kind) {
      case EvidenceKind::state_seen:
        part = item.text + " seen";
        break;
      case EvidenceKind::accepted:
      case EvidenceKind::no_effect:
        part = fmt::format("{} {}", item.text, to_text(item.kind));
        break;
      case EvidenceKind::boot_id_changed:
        part = "boot id changed";
        break;
      case EvidenceKind::boot_progress:
        part = "boot began";
        break;
      case EvidenceKind::declined:
      case EvidenceKind::no_answer:
      case EvidenceKind::probe:
      case EvidenceKind::session:
        part = to_text(item.kind);
        break;
    }
    if (part == last) continue;
    text += text.empty() ? part : ", " + part;
    last = std::move(part);
  }
  return text;
}

Document power_document(const Inventory& inventory, const PowerReport& report, StatusRows rows) {
  Document document;
  document.kind = "oob_power";
  if (rows != StatusRows::each_device) document.sections.emplace_back(folded(inventory, report));
  if (rows != StatusRows::folded) document.sections.emplace_back(by_device(inventory, report));
  document.sections.emplace_back(FactsSection{
      "operation",
      "Operation",
      {{"operation", "Operation", report.operation},
       {"verb", "Verb", to_text(report.verb)},
       {"done", "Done", report.count(PowerEnd::done)},
       {"not_done", "Not done", report.count(PowerEnd::not_done)},
       {"unknown", "Unknown", report.count(PowerEnd::unknown)},
       {"waves", "Waves", std::uint64_t{report.waves}},
       {"fan_out", "Fan-out", report.threads},
       {"took_s", "Time taken", Cell(static_cast<double>(report.took.count()) * 1e-9, seconds_text(report.took))},
       {"ended", "Ended", Cell(report.ended, report.ended ? "yes" : "no, it is incomplete in the journal")}}});
  if (!report.ended)
    document.notes.push_back(fmt::format("continue it with `weft oob power --resume {} CLUSTER`", report.operation));
  return document;
}

Document open_power_document(const std::vector<OpenPower>& open) {
  Document document;
  document.kind = "oob_power_open";
  TableSection table{"operations",
                     "Incomplete operations",
                     {{"operation", "Operation"},
                      {"verb", "Verb"},
                      {"who", "Who"},
                      {"time", "Started"},
                      {"running", "Running"},
                      {"unsettled", "Unsettled", kRight},
                      {"hosts", "Hosts"}},
                     {}};
  table.rows.reserve(open.size());
  for (const OpenPower& operation : open) {
    table.rows.push_back({operation.operation, to_text(operation.verb), operation.who, operation.time,
                          Cell(operation.running, operation.running ? "yes" : "no"),
                          std::uint64_t{operation.unsettled.size()}, fold_hosts(operation.unsettled)});
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::oob
