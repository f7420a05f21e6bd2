// A power verb on many devices as one operation: planned, journaled from begin to end, in waves, many devices in
// parallel. If the process dies, the operation stays open and is resumed from the journal; steps that may have been
// sent are verified instead of repeated. While an operation is open, other operations must not change its unsettled
// devices.
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
  std::string operation{};  // its id, if needed before the operation begins; empty: generated
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
  bool ended = false;  // false: the operation stays open in the journal

  [[nodiscard]] std::uint32_t count(PowerEnd end) const;
  [[nodiscard]] bool all_done() const { return count(PowerEnd::done) == devices.size() && missing.empty(); }
  // No device was reached, or the state of every device is unknown.
  [[nodiscard]] bool in_the_dark() const;
};

// An operation without an end in the journal.
struct OpenPower {
  std::string operation{};
  PowerVerb verb = PowerVerb::on;
  std::string who{};
  std::string time{};
  std::vector<std::string> unsettled{};  // devices without an outcome
  bool running = false;                  // its process is alive
};

// Reads the devices' power sources, and other loads on their feeds if the budget is short, and plans.
[[nodiscard]] Result<PowerPlan> prepare_power(const Fleet& fleet, const PowerRequest& request);

// Errors (refused): the power hierarchy, or an open operation in which one of the devices is unsettled.
[[nodiscard]] Result<PowerReport> run_operation(const Fleet& fleet, const PowerRequest& request);
// Verb, devices, force and finish_on come from the journal; times, probe, limits and progress from `with`.
[[nodiscard]] Result<PowerReport> resume_operation(const Fleet& fleet, const std::string& operation, PowerRequest with);
// Closes an operation without finishing it: unsettled devices end as unknown.
[[nodiscard]] Result<PowerReport> abandon_operation(const Fleet& fleet, const std::string& operation,
                                                    const std::string& reason);
// Power operations in the journal that have a begin but no end.
[[nodiscard]] Result<std::vector<OpenPower>> open_power(const Journal& journal);

}  // namespace weft::oob
