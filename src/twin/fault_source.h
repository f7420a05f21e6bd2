// The incidents of a run, drawn before it begins: when, on which node, of which cause, and what will repair them. They
// depend on the seed, the fault model and the nodes alone: runs with other policies meet the same incidents.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/machine/machine.h"
#include "sched/machine/moment.h"
#include "twin/fault_model.h"

namespace weft::twin {

enum class Fix : std::uint8_t { restart, power_cycle, person };
[[nodiscard]] const std::vector<std::pair<std::string_view, Fix>>& choices_of(Fix);

struct Incident {
  Duration at{};  // since the start of the run
  sched::NodeId node{};
  std::uint32_t cause = 0;  // in FaultModel::causes
  Fix fix = Fix::restart;
  Duration detect{};  // from the incident to the report; 0: no report
  Duration abort{};
  Duration respond{};  // of people, if they are needed
  Duration repair{};
  Duration lasts{};
  Duration returns{};  // after the repair; 0: it does not return
  // Position of a job in the plan whose own process failed, wherever it runs then; if it does not run, as soon as it
  // does. -1: the incident belongs to the node.
  std::int32_t job = -1;
  friend bool operator==(const Incident&, const Incident&) = default;
};

// In the order of their times. With `scale`, all rates are multiplied.
[[nodiscard]] std::vector<Incident> draw_incidents(const FaultModel& model, const sched::Machine& machine,
                                                   Duration length, std::uint64_t seed, double scale = 1);
// The incident that returns after `before` was repaired.
[[nodiscard]] Incident draw_return(const FaultModel& model, const Incident& before, Duration at, std::uint64_t seed);

}  // namespace weft::twin
