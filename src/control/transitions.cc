#include "control/transitions.h"

#include <algorithm>
#include <array>

#include "base/enum_names.h"
#include "base/text.h"

namespace weft::control {
namespace {

using enum JobState;
using Kind = RecordKind;

constexpr Transition<JobState> kJobTransitions[] = {
    {submitted, Kind::job_submitted, queued, "valid"},
    {queued, Kind::attempt_placed, placed, "the scheduler found nodes"},
    {queued, Kind::job_ended, canceled, "canceled"},
    {queued, Kind::job_ended, failed, "cannot run"},
    {placed, Kind::attempt_unplaced, queued, "a node was lost, held or canceled"},
    {placed, Kind::attempt_starting, starting, "nodes free, checkpoint verified"},
    {starting, Kind::attempt_starting, starting, "the engine proved that it did not accept"},
    {starting, Kind::part_running, running, "every part seen running"},
    {starting, Kind::attempt_stopping, stopping, "part failed, node lost, timeout, canceled"},
    {starting, Kind::attempt_ended, done, "every part exited with 0"},
    {starting, Kind::attempt_ended, queued, "every part ended, restart"},
    {starting, Kind::attempt_ended, failed, "every part ended, no restart"},
    {running, Kind::attempt_checkpoint, checkpointing, "preempted, node drained or reserved, drill"},
    {running, Kind::attempt_stopping, stopping, "part failed, node lost, limit, canceled"},
    {running, Kind::attempt_ended, done, "every part exited with 0"},
    {running, Kind::attempt_ended, queued, "every part ended, restart"},
    {running, Kind::attempt_ended, failed, "every part ended, no restart"},
    {checkpointing, Kind::attempt_stopping, stopping, "checkpoint written, or grace period over"},
    {checkpointing, Kind::attempt_ended, done, "every part exited with 0"},
    {checkpointing, Kind::attempt_ended, queued, "every part ended, restart"},
    {checkpointing, Kind::attempt_ended, failed, "every part ended, no restart"},
    {stopping, Kind::attempt_stopping, stopping, "no report: the stop is repeated"},
    {stopping, Kind::attempt_ended, queued, "every part sealed, restart"},
    {stopping, Kind::attempt_ended, failed, "every part sealed, no restart"},
    {stopping, Kind::attempt_ended, canceled, "every part sealed, canceled"},
    {stopping, Kind::attempt_ended, done, "every part had exited with 0"},
};

using Step = SessionStep;
constexpr Transition<SessionStep> kSessionTransitions[] = {
    {Step::quarantine, Kind::session_step, Step::drain, "cordon seen"},
    {Step::quarantine, Kind::session_step, Step::quarantine, "no report: the cordon is repeated"},
    {Step::quarantine, Kind::session_step, Step::person, "deadline"},
    {Step::drain, Kind::session_step, Step::drain, "the engine is asked to move its own jobs away"},
    {Step::drain, Kind::session_step, Step::remediate, "nothing of ours runs, or the node does not respond"},
    {Step::drain, Kind::session_step, Step::validate, "healthy again before the power cycle"},
    {Step::drain, Kind::session_step, Step::person, "deadline, or no fresh evidence"},
    {Step::remediate, Kind::session_step, Step::validate, "done, or a new boot was seen"},
    {Step::remediate, Kind::session_step, Step::remediate, "the action had no effect: the next one"},
    {Step::remediate, Kind::session_step, Step::person, "ambiguous outcome, refused, deadline"},
    {Step::validate, Kind::session_step, Step::release, "checks passed"},
    {Step::validate, Kind::session_step, Step::validate, "no answer: the checks are repeated"},
    {Step::validate, Kind::session_step, Step::remediate, "checks failed: the next action"},
    {Step::validate, Kind::session_step, Step::person, "checks failed and no action is left, deadline"},
    {Step::release, Kind::session_step, Step::release, "no report: the uncordon is repeated"},
    {Step::release, Kind::session_step, Step::person, "deadline"},
    {Step::person, Kind::session_step, Step::validate, "an operator resumed the node"},
};

constexpr std::array<std::string_view, kJobStates> kJobStateNames = {
    "submitted", "queued", "placed", "starting", "running", "checkpointing", "stopping", "done", "failed", "canceled"};

template <std::size_t N, class Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

template <class State>
std::string draw(std::span<const Transition<State>> transitions) {
  const auto id = [](State state) { return replace_all(std::string(to_text(state)), " ", "_"); };  // one word each
  std::string out = "stateDiagram-v2\n";
  for (const Transition<State>& t : transitions) {
    append_format(out, "  {} --> {}: {}\n", id(t.from), id(t.to), t.when);
  }
  return out;
}

}  // namespace

std::string_view to_text(JobState state) { return name_in(kJobStateNames, state); }
std::optional<JobState> find_job_state(std::string_view name) { return find_enum<JobState>(kJobStateNames, name); }
std::string_view to_text(StopCause cause) {
  static constexpr std::array<std::string_view, kStopCauses> names = {
      "none",       "canceled",      "preempted", "node lost",     "node drained", "failed",
      "time limit", "start timeout", "drill",     "node reserved", "node moved"};
  return name_in(names, cause);
}
std::string_view to_text(PartEnd end) {
  static constexpr std::array<std::string_view, kPartEnds> names = {"exited", "stopped", "node rebooted", "node off"};
  return name_in(names, end);
}
std::string_view to_text(AttemptEnd end) {
  static constexpr std::array<std::string_view, kAttemptEnds> names = {"succeeded", "application", "infrastructure",
                                                                       "preempted", "canceled"};
  return name_in(names, end);
}
std::string_view to_text(DrillResult result) {
  static constexpr std::array<std::string_view, kDrillResults> names = {"pending", "passed", "failed"};
  return name_in(names, result);
}
std::string_view to_text(OperationEnd end) {
  static constexpr std::array<std::string_view, kOperationEnds> names = {"succeeded", "transient", "permanent",
                                                                         "superseded", "canceled"};
  return name_in(names, end);
}
std::string_view to_text(SessionStep step) {
  static constexpr std::array<std::string_view, kSessionSteps> names = {"quarantine", "drain",   "remediate",
                                                                        "validate",   "release", "needs an operator"};
  return name_in(names, step);
}
std::string_view to_text(SessionEnd end) {
  static constexpr std::array<std::string_view, kSessionEnds> names = {"repaired", "recovered", "superseded",
                                                                       "closed by an operator"};
  return name_in(names, end);
}

std::span<const Transition<JobState>> job_transitions() { return kJobTransitions; }
std::span<const Transition<SessionStep>> session_transitions() { return kSessionTransitions; }

bool is_allowed(JobState from, RecordKind record, JobState to) {
  return std::any_of(std::begin(kJobTransitions), std::end(kJobTransitions),
                     [&](const auto& t) { return t.from == from && t.record == record && t.to == to; });
}
bool is_allowed(SessionStep from, SessionStep to) {
  return std::any_of(std::begin(kSessionTransitions), std::end(kSessionTransitions),
                     [&](const auto& t) { return t.from == from && t.to == to; });
}

std::string draw_job_diagram() { return draw(job_transitions()); }
std::string draw_session_diagram() { return draw(session_transitions()); }

}  // namespace weft::control
