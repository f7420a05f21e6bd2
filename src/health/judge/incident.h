// Incidents: what was found on a node until it was silent, as one case for people and for a repair; and the health of a
// node that follows from what still holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "health/core/rules.h"
#include "sched/machine/moment.h"

namespace weft::health {

using NodeIndex = std::uint32_t;  // position in the monitor's list of nodes
using IncidentId = std::uint64_t;

// A rule whose condition was met on one part of a node.
struct Finding {
  const Rule* rule = nullptr;
  std::string part;  // "": the node
  sched::Moment first{};
  sched::Moment last{};
  std::uint32_t count = 1;  // events, or times that the measurement began to meet the condition
  std::string text;         // of the last signal
  std::optional<double> value;
  bool holds = true;  // until a measurement recovers, time passes, or the node was repaired
  friend bool operator==(const Finding&, const Finding&) = default;
};

struct Incident {
  IncidentId id = 0;
  NodeIndex node = 0;
  sched::Moment opened{};  // the first signal
  sched::Moment last{};    // the last one
  sched::Moment closed{};  // Moment(): open
  Severity severity = Severity::info;
  std::vector<Finding> findings;  // in the order in which they were found
  bool settled = false;           // the burst is over
  std::string why_closed;

  [[nodiscard]] bool is_open() const { return closed == sched::Moment(); }
};

enum class HealthState : std::uint8_t {
  unknown,  // a source that should report is silent
  healthy,
  degraded,  // no new work
  fatal      // out of service
};
[[nodiscard]] std::string_view to_text(HealthState state);

struct NodeHealth {
  HealthState state = HealthState::unknown;
  int score = 100;
  std::string reason;           // the worst finding, or the silent source
  std::vector<Action> plan;     // what is to be done, in order; empty: nothing
  bool driver_decides = false;  // the plan begins with what the GPU driver asks for
  bool by_score = false;        // fatal because of the score alone
  IncidentId incident = 0;      // the open one; 0: none
  friend bool operator==(const NodeHealth&, const NodeHealth&) = default;
};

// What the driver asks for (NVML's DeviceGpuRecoveryAction, DCGM field 1523, Xid 154): 0 none, 1 reset the GPU,
// 2 reboot, 3 drain peers, 4 drain and reset, 5 recover the IMEX domain, 6 reset the bus, 7 reboot the system.
[[nodiscard]] std::optional<Action> driver_action(std::uint64_t code);

struct DriverAdvice {
  std::string part;
  std::uint64_t code = 0;
  sched::Moment at{};
};

// The health that follows from what holds; `silent`: the source that should report and does not, "": none.
[[nodiscard]] NodeHealth judge(const Rules& rules, const std::vector<Finding>& findings,
                               const std::vector<DriverAdvice>& advice, std::string_view silent);
// "GPU 0000:3b:00: GPU no longer answers on PCIe (xid-79)".
[[nodiscard]] std::string describe(const Finding& finding);

}  // namespace weft::health
