// A power verb over many devices as one operation: planned, journalled from begin to end, in waves, many at a time. A
// process that dies leaves the operation open; it is resumed from the journal, and what may have been sent already is
// looked at instead of sent again. While an operation is open, nobody else disturbs its unsettled devices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "oob/power/plan.h"
#include "oob/power/status_sweep.h"

namespace weft::oob {

struct PowerProgress {
  std::uint32_t finished = 0;
  std::uint32_t total = 0;
  std::size_t wave = 0;  // from 1
  std::size_t waves = 0;
};

struct PowerRequest {
  PowerVerb verb = PowerVerb::on;
  std::vector<std::uint32_t> targets{};
  std::string reason{};
  std::string operation{};  // its id, where somebody must know it before it begins; empty: drawn
  PowerOptions options{};
  PlanLimits limits{};
  std::function<void(const PowerProgress&)> progress{};
};

struct DeviceOutcome {
  std::uint32_t target = 0;
  PowerOutcome outcome{};
  bool earlier = false;  // ended before the operation was resumed
};

struct PowerReport {
  std::string operation{};
  PowerVerb verb = PowerVerb::on;
  std::vector<DeviceOutcome> devices{};
  std::vector<std::string> missing{};  // of a resumed operation: no longer in the inventory
  std::size_t waves = 0;
  int threads = 0;
  Duration took{};
  bool stopped = false;
  bool ended = false;  // false: it stays open in the journal

  [[nodiscard]] std::uint32_t count(PowerEnd end) const;
  [[nodiscard]] bool all_done() const { return count(PowerEnd::done) == devices.size() && missing.empty(); }
  // Nobody was reached, or nothing is known of anyone.
  [[nodiscard]] bool in_the_dark() const;
};

// An operation that began and never ended.
struct OpenPower {
  std::string operation{};
  PowerVerb verb = PowerVerb::on;
  std::string who{};
  std::string time{};
  std::vector<std::string> unsettled{};  // devices without an outcome
  bool running = false;                  // its process lives
};

// Looks at what the devices hang on, and at what else runs on their feeds where the budget is short, and plans.
[[nodiscard]] Result<PowerPlan> prepare_power(const Fleet& fleet, const PowerRequest& request);

// Errors (refused): the hierarchy, or an open operation that has one of the devices unsettled.
[[nodiscard]] Result<PowerReport> run_operation(const Fleet& fleet, const PowerRequest& request);
// Verb, devices, force and finish_on come from the journal; times, probe, limits and progress from `with`.
[[nodiscard]] Result<PowerReport> resume_operation(const Fleet& fleet, const std::string& operation, PowerRequest with);
// Closes an operation that nobody wants to finish: unsettled devices end as unknown.
[[nodiscard]] Result<PowerReport> abandon_operation(const Fleet& fleet, const std::string& operation,
                                                    const std::string& reason);
// Power operations of the journal that have a begin but no end.
[[nodiscard]] Result<std::vector<OpenPower>> open_power(const Journal& journal);

}  // namespace weft::oob
