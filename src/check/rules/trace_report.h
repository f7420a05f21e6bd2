// Findings about the path of a class (check/qos/class_trace.h): which step of a path decides, which line to change, and
// one finding for all devices that run the same file. Shared by the rules of qos_trace.cc; has no rules of its own.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <tuple>

#include "check/core/match.h"
#include "check/core/rule.h"
#include "check/qos/class_trace.h"
#include "check/rules/qos.h"

namespace weft::check {

// The step at which a leg leaves its class: for data the first that drops, else the first that does not mark.
[[nodiscard]] const TraceStep* find_deciding_step(const TraceLeg& leg);
// The step that marks the packets of a leg; null: none does.
[[nodiscard]] const TraceStep* marking_step(const TraceLeg& leg);
// Whether the step and the marking come from the cluster file alone.
[[nodiscard]] bool only_intent(const TraceLeg& leg, const TraceStep& step);
[[nodiscard]] std::string describe_cause(const TraceLeg& leg, const TraceStep& step);
// The DSCP that the cluster file specifies for the leg's packets, -1 without one.
[[nodiscard]] int find_expected_dscp(const CheckInput& input, const Trace& trace, const TraceLeg& leg);

// One finding per cause (and, for class maps, per pair of DSCP and class).
class TraceReporter {
 public:
  explicit TraceReporter(const CheckInput& input) : input_(input) {}

  // `step` is the fault, `at` the step whose line is to be changed.
  void add(const TraceLeg& leg, const TraceStep& step, const TraceStep& at, const std::string& message);
  void report(Report& report) const { found_.report(report); }

 private:
  const CheckInput& input_;
  FindingGroups found_;
  std::set<std::tuple<FileId, std::uint32_t, std::uint16_t, std::string, Cause>> seen_;
};

// Legs whose deciding step has one of the causes.
void report_causes(const CheckInput& input, Report& report, std::initializer_list<Cause> causes);
// Steps with a cause anywhere on a leg that otherwise stays in its class.
void report_steps(const CheckInput& input, Report& report, Cause cause);

}  // namespace weft::check
