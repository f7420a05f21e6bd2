#include "workload/life/fault_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "workload/life/view_cells.h"

namespace weft::workload {
namespace {

std::string what_a_restart_finds(const FaultOutcome& faults) {
  if (!faults.restarts) return "not on these servers: repair them or leave them out";
  if (faults.ports_left == faults.ports) return "on the same servers, with all ports";
  return fmt::format("on the same servers, with {} of {} ports: NCCL leaves out those that are down", faults.ports_left,
                     faults.ports);
}

}  // namespace

FactsSection fault_facts(const FaultOutcome& faults, SimTime step_after) {
  FactsSection section;
  section.key = "failure";
  section.title = "Failure";
  const auto add = [&](const char* key, const char* title, Cell cell) {
    section.facts.push_back({key, title, std::move(cell)});
  };
  add("cause", "Cause", faults.causes.empty() ? std::string("no link that the job uses") : join(faults.causes, "; "));
  add("running_job", "Running job", faults.continues ? "continues" : "ends");
  if (!faults.continues) {
    add("ends_by", "How it ends", faults.ends_by.empty() ? std::string("a collective never ends") : faults.ends_by);
    if (faults.ends_after > SimTime(0)) add("ends_after_s", "Ends after", seconds_cell(faults.ends_after));
    add("restart", "Restart", what_a_restart_finds(faults));
  } else {
    add("stall_s", "Stall, once", seconds_cell(faults.stall));
  }
  if (step_after == SimTime(0)) return section;
  add("step_before_s", "Step before", fine_seconds_cell(faults.step_before));
  if (faults.restarts) add("step_after_s", "Step after", fine_seconds_cell(step_after));
  if (!faults.continues && faults.restarts) {
    add("lost_work_s", "Lost since the last checkpoint, mean", seconds_cell(faults.lost_work));
    add("restart_s", "Submit and bootstrap again", seconds_cell(faults.restart));
  }
  return section;
}

}  // namespace weft::workload
