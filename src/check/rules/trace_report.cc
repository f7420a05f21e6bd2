#include "check/rules/trace_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"

namespace weft::check {

namespace {

SourceLocation place_of_step(const TraceStep& step) { return step.place.known() ? step.place : step.near; }

// All devices that run the file of the deciding line, so a template for a hundred leaves is one finding.
std::string subject_of(const CheckInput& input, const TraceStep& step) {
  std::string own = step.device.empty() ? step.hop : step.device;
  if (!input.has_cluster() || step.said_by == SaidBy::intent) return own;
  const FileId file = place_of_step(step).file;
  for (const config::SwitchConfig& config : input.config().switches) {
    if (config.file != file) continue;
    std::vector<std::string> names;
    for (const model::DeviceId id : devices_of(input.cluster(), input.config(), config)) {
      names.push_back(input.cluster().name_of(id));
    }
    if (std::find(names.begin(), names.end(), own) != names.end()) return fold_hosts(std::move(names));
  }
  return own;
}

// The line to change: the marking if it is configured and differs from the cluster file, else the step itself.
const TraceStep& line_to_change(const CheckInput& input, const Trace& trace, const TraceLeg& leg,
                                const TraceStep& step) {
  const TraceStep* marked = leg.notice ? &leg.steps.front() : marking_step(leg);
  const bool wrong = trace.has_fabric && leg.dscp != find_expected_dscp(input, trace, leg);
  return leg.notice && wrong && marked->said_by != SaidBy::intent ? *marked : step;
}

}  // namespace

const TraceStep* find_deciding_step(const TraceLeg& leg) {
  if (leg.notice) return leg.first(StepVerdict::warning);
  const TraceStep* lossy = leg.first(StepVerdict::lossy);
  return lossy != nullptr ? lossy : leg.first(StepVerdict::unmarked);
}

const TraceStep* marking_step(const TraceLeg& leg) {
  return leg.marked < leg.steps.size() ? &leg.steps[leg.marked] : nullptr;
}

bool only_intent(const TraceLeg& leg, const TraceStep& step) {
  const TraceStep* marked = leg.notice ? &leg.steps.front() : marking_step(leg);
  return step.said_by == SaidBy::intent && (marked == nullptr || marked->said_by == SaidBy::intent);
}

std::string describe_cause(const TraceLeg& leg, const TraceStep& step) {
  return fmt::format("{} ({} from {} to {}, at {})", step.why, leg.notice ? "notifications" : "data", leg.from, leg.to,
                     step.hop);
}

int find_expected_dscp(const CheckInput& input, const Trace& trace, const TraceLeg& leg) {
  if (!trace.has_fabric) return -1;
  const model::QosSpec& qos = *input.cluster().data_fabric_spec(trace.fabric).qos;
  return static_cast<int>(leg.notice ? *qos.cnp_dscp : *qos.dscp);
}

void TraceReporter::add(const TraceLeg& leg, const TraceStep& step, const TraceStep& at, const std::string& message) {
  const SourceLocation place = place_of_step(at);
  const std::string subject = subject_of(input_, at);
  if (!seen_.insert({place.file, place.line, place.column, subject, step.cause}).second) return;
  std::vector<Finding::Related> related;
  const TraceStep* marked = leg.notice ? &leg.steps.front() : marking_step(leg);
  if (marked != nullptr && place_of_step(*marked) != place) {
    related.push_back({place_of_step(*marked), fmt::format("{}: {} {}", marked->hop, marked->what, marked->value)});
  }
  if (place_of_step(step) != place) {
    related.push_back({place_of_step(step), fmt::format("{}: {} {}", step.hop, step.what, step.value)});
  }
  const std::string value = step.cause == Cause::class_lossy ? step.value : "";
  found_.add(fmt::format("{} {} {}", static_cast<int>(step.cause), at.what, value), subject, place, message,
             std::move(related));
}

void report_causes(const CheckInput& input, Report& report, std::initializer_list<Cause> causes) {
  TraceReporter reporter(input);
  for (const Trace& trace : input.traces().all()) {
    for (const TraceLeg& leg : trace.legs) {
      const TraceStep* step = find_deciding_step(leg);
      if (step == nullptr || only_intent(leg, *step)) continue;
      if (std::find(causes.begin(), causes.end(), step->cause) == causes.end()) continue;
      reporter.add(leg, *step, line_to_change(input, trace, leg, *step), describe_cause(leg, *step));
    }
  }
  reporter.report(report);
}

void report_steps(const CheckInput& input, Report& report, Cause cause) {
  TraceReporter reporter(input);
  for (const Trace& trace : input.traces().all()) {
    for (const TraceLeg& leg : trace.legs) {
      if (leg.first(StepVerdict::lossy) != nullptr) continue;
      for (const TraceStep& step : leg.steps) {
        if (step.cause == cause && step.said_by != SaidBy::intent)
          reporter.add(leg, step, step, describe_cause(leg, step));
      }
    }
  }
  reporter.report(report);
}

}  // namespace weft::check
