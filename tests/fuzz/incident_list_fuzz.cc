// Bytes as an incident list. Any input must yield troubles in the order of their times, or diagnostics.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "sched/machine/plain_machine.h"
#include "twin/incident_finder.h"
#include "twin/slurm_history.h"

namespace weft::twin {
namespace {

void run_list(std::string text) {
  sched::PlainMachine plain;
  plain.nodes = 8;
  static const auto machine = std::make_shared<const sched::Machine>(sched::plain_machine(plain));
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("incidents.csv", std::move(text));
  std::optional<std::vector<Trouble>> troubles = read_incident_list(sources, file, *machine, diagnostics);
  CHECK(troubles.has_value() != diagnostics.has_errors(), "a list that cannot be read says why");
  (void)render_all(diagnostics, sources, true);
  if (!troubles || troubles->empty()) return;
  const auto later = [](const Trouble& a, const Trouble& b) { return a.at < b.at; };
  CHECK(std::is_sorted(troubles->begin(), troubles->end(), later), "troubles are in the order of their times");
  History history;
  history.from = troubles->front().at;
  history.until = troubles->back().at + sched::seconds(86'400);
  history.troubles = *std::move(troubles);
  const FoundIncidents found = find_incidents(history, 8);
  CHECK(found.incidents.size() == history.troubles.size(), "every trouble is an incident");
  for (const Incident& incident : found.incidents) {
    CHECK(incident.cause < found.faults.causes.size(), "every incident has a cause");
    CHECK(incident.detect.count() > 0 && incident.repair.count() >= 0, "times are not negative");
  }
}

}  // namespace
}  // namespace weft::twin

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::twin::run_list(std::string(data, data + size));
  return 0;
}
