// Documents of firmware updates.
#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "oob/firmware/run.h"

namespace weft::oob {
namespace {

constexpr auto kRight = Column::Align::right;

std::string state_of(const UpdateOutcome& outcome) {
  if (outcome.stopped) return "stopped";
  return std::string(to_text(outcome.end));
}

}  // namespace

Document update_document(const UpdateReport& report, bool each_row) {
  Document document;
  document.kind = "oob-firmware-update";
  TableSection table{"outcomes",
                     "Outcomes",
                     {{"device", "Device"},
                      {"end", "End"},
                      {"half_flashed", "Half-flashed"},
                      {"reason", "Reason"},
                      {"evidence", "Evidence"},
                      {"next", "What to do"},
                      {"took_s", "Took s", kRight}},
                     {}};
  std::vector<std::string> half;
  std::uint64_t done = 0;
  for (const UpdatedDevice& device : report.devices) {
    const UpdateOutcome& outcome = device.outcome;
    const double took = static_cast<double>(outcome.took.count()) * 1e-9;
    table.rows.push_back({device.device, state_of(outcome),
                          each_row ? Cell(outcome.half_flashed) : Cell(outcome.half_flashed ? "maybe" : "no"),
                          outcome.reason, outcome.evidence, outcome.next, Cell(took, fmt::format("{:.1f}", took))});
    if (outcome.half_flashed) half.push_back(device.device);
    if (outcome.end == UpdateEnd::done) ++done;
  }
  document.sections.emplace_back(std::move(table));
  document.sections.emplace_back(FactsSection{
      "operation",
      "Operation",
      {{"operation", "Operation", report.operation},
       {"done", "Done", done},
       {"devices", "Devices", std::uint64_t{report.devices.size()}},
       {"ended", "Ended", Cell(report.ended, report.ended ? "yes" : "no, it is incomplete in the journal")}}});
  if (!half.empty())
    document.notes.push_back(
        fmt::format("may be half-flashed: {}; do not power them off", fold_hosts(std::move(half))));
  if (!report.ended) {
    document.notes.push_back(
        fmt::format("continue it with `weft oob firmware update CLUSTER --resume {}`", report.operation));
  }
  return document;
}

Document open_updates_document(const std::vector<OpenUpdate>& open) {
  Document document;
  document.kind = "oob-firmware-open";
  TableSection table{"operations",
                     "Incomplete updates",
                     {{"operation", "Operation"},
                      {"image", "Image"},
                      {"who", "Who"},
                      {"time", "Started"},
                      {"running", "Running"},
                      {"half_flashed", "May be half-flashed"},
                      {"not_started", "Not started"}},
                     {}};
  table.rows.reserve(open.size());
  const auto fold = [](const std::vector<std::string>& hosts) { return hosts.empty() ? "-" : fold_hosts(hosts); };
  for (const OpenUpdate& update : open) {
    table.rows.push_back({update.operation, update.image, update.who, update.time,
                          Cell(update.running, update.running ? "yes" : "no"), fold(update.half_flashed),
                          fold(update.not_started)});
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::oob
