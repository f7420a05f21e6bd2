// Plays the control plane of the product against a simulated cluster: controller, loop and journal are those of
// `weft serve`; nodes, jobs, faults, telemetry and people are simulated. A month takes seconds. The same plan and seed
// give the same result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/options.h"
#include "store/store.h"
#include "twin/fault_model.h"
#include "twin/result.h"
#include "twin/twin_job.h"

namespace weft::twin {

struct TwinPlan {
  std::string cluster;  // its name, for reports
  std::shared_ptr<const sched::Machine> machine;
  FaultModel faults;
  double fault_scale = 1;                          // of all rates
  std::optional<std::vector<Incident>> incidents;  // of a recording, instead of those that the seed draws
  std::vector<TwinJob> jobs;                       // in the order of their submissions
  control::ControllerOptions options;
  Duration length = sched::seconds(30 * 86'400);
  std::uint64_t seed = 1;
  std::vector<std::string> notes;  // assumptions, shown with the result
};

struct TwinHooks {
  std::function<bool(Duration done)> progress;  // false: stop; the result is then empty
  store::Store* journal = nullptr;              // receives the journal; none: in memory
};

// An error if the journal cannot be written, or the controller contradicts itself.
[[nodiscard]] Result<TwinResult> play(const TwinPlan& plan, const TwinHooks& hooks = {});

// The incidents of a plan: given, or drawn from its seed.
[[nodiscard]] std::vector<Incident> incidents_of(const TwinPlan& plan);

// Fills in what the twin needs to know its jobs by: names, volumes, the position in the plan.
void number_jobs(std::vector<TwinJob>& jobs);

}  // namespace weft::twin
