#include "world/local/local_part.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "world/local/cgroup.h"
#include "world/local/process_table.h"

namespace weft::world {

using control::PartPhase;
using control::PartReport;

void LocalPart::expect_start(pid_t supervisor) {
  expected_ = true;
  if (supervisor > 0) child_ = supervisor;
}

bool LocalPart::is_supervisor_alive() {
  if (child_ > 0) {
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) == 0) return true;
    child_ = 0;
  }
  const Result<bool> locked = folder_.is_locked();
  return !locked.ok() || *locked;  // if it cannot be told, look again later
}

LocalPart::Progress LocalPart::report(PartPhase phase, const ExitRecord& record, sched::Moment now,
                                      std::vector<control::Event>& events) const {
  PartReport made;
  made.name = name_;
  made.node = node_;
  made.boot = boot_;
  made.phase = phase;
  made.code = record.code;
  made.text = record.text;
  made.observed = now;
  const Result<PartDecision> decision = folder_.read_decision();
  made.sealed =
      phase == PartPhase::exited || (phase == PartPhase::absent && decision.ok() && *decision == PartDecision::sealed);
  events.emplace_back(std::move(made));
  return phase == PartPhase::running ? Progress::running : Progress::over;
}

LocalPart::Progress LocalPart::update(sched::Moment now, std::vector<control::Event>& events) {
  const Result<PartDecision> decision = folder_.read_decision();
  if (decision.ok() && *decision == PartDecision::sealed) {
    (void)is_supervisor_alive();  // reaps it, if it has lost against the seal
    if (child_ == 0) return report(PartPhase::absent, {}, now, events);
    return Progress::waiting;
  }
  if (!is_supervisor_alive()) return update_dead(now, events);
  if (!decision.ok() || *decision != PartDecision::start) return Progress::waiting;
  if (!std::exchange(reported_running_, true)) return report(PartPhase::running, {}, now, events);
  return Progress::running;
}

// No supervisor is alive, so nothing changes the folder but this engine.
LocalPart::Progress LocalPart::update_dead(sched::Moment now, std::vector<control::Event>& events) {
  const Result<std::optional<ExitRecord>> record = folder_.read_exit();
  if (!record.ok()) return Progress::waiting;
  if (record->has_value()) return report(PartPhase::exited, **record, now, events);
  const Result<PartDecision> decision = folder_.read_decision();
  if (!decision.ok()) return Progress::waiting;
  if (*decision == PartDecision::start) {
    (void)clean_up();  // the next update finds its record
    return Progress::waiting;
  }
  // An engine that was killed prepared it but started nothing. The controller may send the command again.
  if (*decision == PartDecision::none && !expected_) return report(PartPhase::absent, {}, now, events);
  if (*decision == PartDecision::none && !(make_folders(folder_.path(), 0700).ok() && folder_.decide_sealed().ok()))
    return Progress::waiting;  // disk full: later
  if (const Result<PartPlan> plan = folder_.read_plan(); plan.ok()) remove_cgroup(plan->cgroup);
  return report(PartPhase::absent, {kPartLost, "its supervisor ended before it started a process"}, now, events);
}

// Kills what a dead supervisor left behind, and records the end of the part when nothing is left. In several updates:
// processes need time to end.
bool LocalPart::clean_up() {
  const Result<PartPlan> plan = folder_.read_plan();
  ExitRecord record{kPartLost, "the supervisor of its processes was killed; no process of it is left"};
  if (plan.ok() && plan->boot != boot_) {
    record.text = "the machine was rebooted";
  } else {
    const std::string cgroup = plan.ok() ? plan->cgroup : "";
    const std::optional<ProcessId> supervisor = folder_.read_supervisor();
    kill_cgroup(cgroup);
    // Without a marker in the environment, the session tells.
    const std::string marker = plan.ok() ? plan->marker : "\n";
    const std::vector<ProcessStat> left = find_part_processes(supervisor.value_or(ProcessId{}), marker);
    for (const ProcessStat& process : left) send_signal(process.id, SIGKILL);
    quiet_scans_ = left.empty() && is_cgroup_empty(cgroup) ? quiet_scans_ + 1 : 0;
    // Twice: a process that forks and ends while /proc is read may escape one scan.
    if (quiet_scans_ < 2) return false;
    remove_cgroup(cgroup);
  }
  const Result<FileDescriptor> lock = folder_.lock();
  return lock.ok() && folder_.write_exit(record).ok();
}

Status LocalPart::stop(const StopRequest& request) {
  if (Status made = make_folders(folder_.path(), 0700); !made.ok()) return made;
  const Result<PartDecision> decision = folder_.decide_sealed();
  if (!decision.ok()) return decision.error();
  if (*decision != PartDecision::start) return {};
  StopRequest combined = request;
  if (const std::optional<StopRequest> earlier = folder_.read_stop()) {
    if (earlier->operation == request.operation && earlier->terminate_at <= request.terminate_at) return {};
    combined.terminate_at = std::min(earlier->terminate_at, request.terminate_at);
    combined.kill_at = std::min(earlier->kill_at, request.kill_at);
  }
  if (folder_.write_stop(combined).ok()) {
    wake();
  } else if (const std::optional<ProcessId> supervisor = folder_.read_supervisor()) {
    send_signal(*supervisor, SIGTERM);  // no space for the request: the supervisor has a grace period of its own
  }
  return {};
}

Status LocalPart::notify(control::OperationId operation) const {
  if (folder_.read_notice() == operation) return {};
  if (Status written = folder_.write_notice(operation); !written.ok()) return written;
  wake();
  return {};
}

void LocalPart::wake() const {
  if (const std::optional<ProcessId> supervisor = folder_.read_supervisor()) send_signal(*supervisor, SIGUSR2);
}

}  // namespace weft::world
