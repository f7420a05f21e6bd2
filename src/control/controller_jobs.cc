// Attempts of jobs: start, observe, stop, classify the end, restart.
#include <fmt/format.h>

#include <algorithm>

#include "control/checkpoint_interval.h"
#include "control/controller.h"

namespace weft::control {
namespace {

bool is_failure(const Part& part) { return part.end != PartEnd::exited || part.code != 0; }

// The exit status to report: the first failure that was not caused by our own stop (SIGTERM, SIGKILL), if there is one.
std::int32_t exit_status(const Attempt& attempt) {
  std::int32_t status = 0;
  for (const Part& part : attempt.parts) {
    if (part.end != PartEnd::exited || part.code == 0) continue;
    const bool by_stop = part.code == 143 || part.code == 137;
    if (!by_stop) return part.code;
    if (status == 0) status = part.code;
  }
  return status;
}

AttemptEnd classify(const Job& job) {
  const Attempt& attempt = *job.current;
  if (std::none_of(attempt.parts.begin(), attempt.parts.end(), is_failure)) return AttemptEnd::succeeded;
  switch (attempt.cause) {
    case StopCause::canceled:
      return AttemptEnd::canceled;
    case StopCause::preempted:
    case StopCause::drained:
    case StopCause::drill:
    case StopCause::reserved:
    case StopCause::moved:
      return AttemptEnd::preempted;
    case StopCause::node_lost:
    case StopCause::timeout:
      return AttemptEnd::infrastructure;
    case StopCause::limit:
      return AttemptEnd::application;
    case StopCause::none:
    case StopCause::failed:
      break;
  }
  const bool lost = std::any_of(attempt.parts.begin(), attempt.parts.end(), [](const Part& part) {
    return part.end == PartEnd::rebooted || part.end == PartEnd::off || part.code < 0;
  });
  return lost ? AttemptEnd::infrastructure : AttemptEnd::application;
}

Duration backoff_of(const RestartPolicy& policy, std::int32_t failures) {
  Duration backoff = policy.backoff;
  for (std::int32_t i = 1; i < failures && backoff < policy.max_backoff; ++i) backoff = backoff * 2;
  return std::min(backoff, policy.max_backoff);
}

}  // namespace

void Controller::advance(JobNumber number, Step& step) {
  const Job* job = state_.find_job(number);
  if (job == nullptr || !job->current) {
    active_.erase(number);
    if (job == nullptr || !job->cancel) return;
    Record ended = record(RecordKind::job_ended);
    ended.job = number;
    ended.code = static_cast<std::uint8_t>(JobState::canceled);
    ended.text = job->reason;
    if (!emit(step, std::move(ended))) return;
    scheduler_->finish(ids_.at(number), now_);
    ids_.erase(number);
    return;
  }
  active_.insert(number);
  if (job->state == JobState::placed) {
    start_placed(*job, step);
  } else if (job->current->all_sealed()) {
    end_attempt(*job, step);
  } else if (job->cancel && job->state != JobState::stopping) {
    send_stop(*job, StopCause::canceled, job->reason, step);
  }
}

void Controller::start_placed(const Job& job, Step& step) {
  if (job.cancel) {
    const JobNumber number = job.number;
    unplace(job, "canceled", step);
    advance(number, step);
    return;
  }
  for (const Part& part : job.current->parts) {
    const LeaseOwner owner = state_.node(part.node).lease.owner;
    if (uses_leases() && owner != engine_of(*job.spec)) {
      unplace(job, fmt::format("{} is leased to {}", state_.machine().node(part.node).name, lease::to_text(owner)),
              step);
      return;
    }
    if (is_usable(part.node) && state_.node(part.node).boot == part.boot) continue;
    unplace(job,
            fmt::format("{} is not available: {}", state_.machine().node(part.node).name,
                        why_unusable(part.node, Reader::users)),
            step);
    return;
  }
  if (const std::string conflict = why_reserved(job); !conflict.empty()) {
    unplace(job, conflict, step);
    return;
  }
  if (!state_.can_claim(job)) return;  // until the attempt before on these GPUs is sealed
  if (has(Defect::unverified_checkpoint) && !job.current->chosen) {
    Record chosen = attempt_record(RecordKind::checkpoint_chosen, job);
    chosen.text = job.checkpoint;
    chosen.value = job.step;
    emit(step, std::move(chosen));
  }
  if (job.current->chosen) {
    send_start(job, step);
    return;
  }
  const AttemptName name{job.number, job.current->number};
  const bool asked =
      std::any_of(verifying_.begin(), verifying_.end(), [&](const auto& each) { return each.second == name; });
  if (asked) return;
  Record ask = attempt_record(RecordKind::checkpoint_asked, job);
  ask.operation = next_operation();
  const OperationId operation = ask.operation;
  if (!emit(step, std::move(ask))) return;
  verifying_[operation] = name;
  step.commands.emplace_back(VerifyCheckpoint{operation, job.number, job.spec});
}

void Controller::send_start(const Job& job, Step& step) {
  Record starting = attempt_record(RecordKind::attempt_starting, job);
  starting.operation = next_operation();
  StartAttempt start;
  start.operation = starting.operation;
  start.term = term_;
  start.name = {job.number, job.current->number};
  start.spec = job.spec;
  start.slots = job.current->slots;
  for (const sched::Slot& slot : start.slots) start.boots.push_back(job.current->find(slot.node)->boot);
  start.checkpoint = job.current->checkpoint;
  start.checkpoint_path = job.current->checkpoint_path;
  start.checkpoint_interval = interval_of(job);
  if (has(Defect::ignore_boot_in_start)) std::fill(start.boots.begin(), start.boots.end(), 0);
  if (has(Defect::unreserved_start)) {
    step.commands.emplace_back(start);
    return;
  }
  if (emit(step, std::move(starting))) step.commands.emplace_back(std::move(start));
}

Duration Controller::interval_of(const Job& job) const {
  const CheckpointPolicy& policy = job.spec->checkpoint;
  if (policy.volumes.empty()) return {};
  if (policy.interval > Duration()) return policy.interval;
  const Duration write_time = job.write_time > Duration() ? job.write_time : policy.write_time;
  return checkpoint_interval(write_time, options_.interruptions, job.current->parts.size());
}

void Controller::stop_attempt(const Job& job, StopCause cause, std::string text, Step& step, bool ask_checkpoint) {
  if (job.state == JobState::stopping) return;
  if (job.state == JobState::placed) {
    unplace(job, std::move(text), step);
    return;
  }
  const bool can_ask = job.state == JobState::running && job.spec->checkpoint.notice != CheckpointNotice::none &&
                       !job.spec->checkpoint.volumes.empty();
  if (!ask_checkpoint || !can_ask) {
    if (job.state != JobState::checkpointing || !ask_checkpoint) send_stop(job, cause, std::move(text), step);
    return;
  }
  Record asked = attempt_record(RecordKind::attempt_checkpoint, job);
  asked.operation = next_operation();
  asked.code = static_cast<std::uint8_t>(cause);
  asked.text = std::move(text);
  RequestCheckpoint request{asked.operation, {job.number, job.current->number}, engine_of(*job.spec)};
  if (emit(step, std::move(asked))) step.commands.emplace_back(request);
}

void Controller::send_stop(const Job& job, StopCause cause, std::string text, Step& step) {
  Record stopping = attempt_record(RecordKind::attempt_stopping, job);
  stopping.operation = next_operation();
  stopping.code = static_cast<std::uint8_t>(cause);
  stopping.text = std::move(text);
  StopAttempt stop;
  stop.operation = stopping.operation;
  stop.name = {job.number, job.current->number};
  stop.engine = engine_of(*job.spec);
  stop.grace = job.spec->shape.grace;
  for (const Part& part : job.current->parts) {
    if (!part.sealed) stop.nodes.push_back(part.node);
  }
  if (emit(step, std::move(stopping))) step.commands.emplace_back(std::move(stop));
}

void Controller::seal(JobNumber number, sched::NodeId node, PartEnd end, std::int32_t code, const std::string& text,
                      Step& step) {
  const Job* job = state_.find_job(number);
  if (job == nullptr || !job->current || job->current->starts == 0) return;
  const Part* part = job->current->find(node);
  if (part == nullptr || part->sealed) return;
  Record sealed = attempt_record(RecordKind::part_sealed, *job);
  sealed.node = node;
  sealed.code = static_cast<std::uint8_t>(end);
  sealed.value = code;
  sealed.text = text;
  if (!emit(step, std::move(sealed))) return;
  const auto open = std::count_if(job->current->parts.begin(), job->current->parts.end(),
                                  [](const Part& each) { return !each.sealed; });
  if (open == 0 || (open == 1 && has(Defect::drop_last_seal))) {
    end_attempt(*job, step);
  } else if (is_failure(*part)) {
    stop_attempt(*job, end == PartEnd::exited && code >= 0 ? StopCause::failed : StopCause::node_lost,
                 fmt::format("{}: {}", state_.machine().node(node).name, text.empty() ? to_text(end) : text), step);
  }
}

void Controller::end_attempt(const Job& job, Step& step) {
  const AttemptEnd end = classify(job);
  const Attempt& attempt = *job.current;
  const StopCause cause = attempt.cause;
  Record ended = attempt_record(RecordKind::attempt_ended, job);
  ended.code = static_cast<std::uint8_t>(end);
  ended.value = exit_status(attempt);
  ended.text = attempt.cause_text;
  if (ended.text.empty()) {
    const auto failed = std::find_if(attempt.parts.begin(), attempt.parts.end(), is_failure);
    if (failed != attempt.parts.end())
      ended.text = failed->text.empty() ? std::string(to_text(failed->end)) : failed->text;
  }
  JobState next = JobState::queued;
  const RestartPolicy& policy = job.spec->restart;
  if (end == AttemptEnd::succeeded) {
    next = JobState::done;
  } else if (job.cancel || end == AttemptEnd::canceled) {
    next = JobState::canceled;
  } else if (cause == StopCause::limit || (end == AttemptEnd::application && policy.on_success_only)) {
    next = JobState::failed;
  } else if (end == AttemptEnd::application) {
    // The delay is for jobs that fail again and again: one that ran for longer than any delay restarts after the first.
    const bool ran = attempt.running != sched::Moment() && now_ - attempt.running > policy.max_backoff;
    ended.until = now_ + backoff_of(policy, ran ? 1 : job.failures + 1);
  } else if (cause == StopCause::timeout || job.node_failures > 0) {
    ended.until = now_ + backoff_of(policy, job.node_failures + 1);
  }
  if (next == JobState::canceled && job.state != JobState::stopping) next = JobState::failed;
  ended.key = to_text(next);
  const JobNumber number = job.number;
  judge_drill(job, end, ended.text, step);
  if (!emit(step, std::move(ended))) return;
  active_.erase(number);
  if (is_final(next)) {
    scheduler_->finish(ids_.at(number), now_);
    ids_.erase(number);
    return;
  }
  requeue(number, end, cause, step);
}

void Controller::requeue(JobNumber number, AttemptEnd end, StopCause cause, Step& step) {
  const Job& job = *state_.find_job(number);
  const sched::JobId id = ids_.at(number);
  const std::int32_t counted = job.failures + (has(Defect::count_node_failures) ? job.node_failures : 0);
  const bool too_many = counted > job.spec->restart.max_failures || job.node_failures > options_.max_node_failures;
  const bool running = scheduler_->record(id).phase == sched::JobPhase::running;
  if (end == AttemptEnd::infrastructure && cause == StopCause::node_lost && running && !too_many && !job.cancel &&
      job.not_before <= now_) {
    if (!scheduler_->repair_job(id, now_)) return;
    Record placed = record(RecordKind::attempt_placed);
    placed.job = number;
    placed.attempt = job.attempts + 1;
    placed.code = static_cast<std::uint8_t>(scheduler_->record(id).charge);
    placed.slots = scheduler_->record(id).placement.slots;
    for (const sched::Slot& slot : placed.slots) placed.boots.push_back(state_.node(slot.node).boot);
    if (emit(step, std::move(placed))) advance(number, step);
    return;
  }
  scheduler_->stopped(id, now_);
  scheduler_->exclude(id, excluded_nodes(job), now_);
  if (too_many) {
    Record held = record(RecordKind::job_held);
    held.job = number;
    held.text = counted > job.spec->restart.max_failures
                    ? fmt::format("{} failures; the last: {}", counted, job.reason)
                    : fmt::format("{} node failures without progress; the last: {}", job.node_failures, job.reason);
    emit(step, std::move(held));
    scheduler_->hold(id, sched::kNever, now_);
  } else if (job.not_before > now_) {
    scheduler_->hold(id, job.not_before, now_);
  }
}

void Controller::unplace(const Job& job, std::string text, Step& step) {
  const JobNumber number = job.number;
  Record unplaced = attempt_record(RecordKind::attempt_unplaced, job);
  unplaced.text = std::move(text);
  if (!emit(step, std::move(unplaced))) return;
  active_.erase(number);
  scheduler_->stopped(ids_.at(number), now_);
}

void Controller::stop_orphan(AttemptName name, sched::NodeId node, Step& step) {
  if (has(Defect::ignore_orphans) || name.job == 0) return;
  if (!heard_[sched::index_of(node)].foreign.insert(name).second &&
      now_ - heard_[sched::index_of(node)].removal < options_.stop_repeat) {
    return;  // the stop was sent
  }
  heard_[sched::index_of(node)].removal = now_;
  update_usable(node);
  Record orphan = record(RecordKind::orphan_stopped);
  orphan.job = name.job;
  orphan.attempt = name.attempt;
  orphan.node = node;
  orphan.operation = next_operation();
  StopAttempt stop;
  stop.operation = orphan.operation;
  stop.name = name;
  stop.nodes = {node};
  if (emit(step, std::move(orphan))) step.commands.emplace_back(std::move(stop));
}

void Controller::forget_orphan(AttemptName name, sched::NodeId node) {
  if (heard_[sched::index_of(node)].foreign.erase(name) > 0) update_usable(node);
}

void Controller::on(const PartReport& report, Step& step) {
  if (sched::index_of(report.node) >= state_.node_count()) return;
  note_boot(report.node, report.boot, step);
  const Job* job = state_.find_job(report.name.job);
  const bool current = job != nullptr && job->current &&
                       (job->current->number == report.name.attempt || has(Defect::old_attempt_report));
  const Part* part = current ? job->current->find(report.node) : nullptr;
  const bool live = part != nullptr && !part->sealed && job->current->starts > 0;
  if (report.phase == PartPhase::running) {
    if (!live) {
      stop_orphan(report.name, report.node, step);
    } else if (!part->running && report.boot == part->boot) {
      Record running = attempt_record(RecordKind::part_running, *job);
      running.node = report.node;
      emit(step, std::move(running));
    }
    return;
  }
  if (report.phase == PartPhase::exited || report.sealed) forget_orphan(report.name, report.node);
  if (!live || (report.phase == PartPhase::absent && !report.sealed)) return;
  seal(report.name.job, report.node, report.phase == PartPhase::exited ? PartEnd::exited : PartEnd::stopped,
       report.code, report.text, step);
}

void Controller::on(const Inventory& inventory, Step& step) {
  for (const NodeInventory& node : inventory.nodes) {
    if (sched::index_of(node.node) >= state_.node_count()) continue;
    const BootId known = state_.node(node.node).boot;
    Heard& heard = heard_[sched::index_of(node.node)];
    // A journal that lost records may take a late report of an earlier boot for a new boot. The node's own answer to
    // this controller, observed after that, corrects it.
    const bool proven = node.term == term_ && inventory.observed > heard.booted;
    if (node.boot != known && state_.node(node.node).boots.contains(node.boot) && !proven) continue;  // stale
    note_boot(node.node, node.boot, step, proven);
    if (node.term > term_) term_ = node.term + 1;  // the journal lost the last term, and the clock was set back
    heard.listed = heard.listed || node.term == term_;
    std::erase_if(heard.foreign, [&](const AttemptName& name) {
      return std::find(node.running.begin(), node.running.end(), name) == node.running.end();
    });
    update_usable(node.node);
    for (const AttemptName& name : node.running) {
      on(PartReport{name, node.node, node.boot, PartPhase::running, false, 0, {}, inventory.observed}, step);
    }
    if (node.term == term_) stop_lost_starts(node, step);
  }
  vanish(inventory, step);
}

// Starts that were sent before the controller restarted, to a node that does not run them: it refuses earlier terms, so
// they will not begin. There is no need to wait for the start timeout.
void Controller::stop_lost_starts(const NodeInventory& node, Step& step) {
  const std::set<JobNumber> jobs = state_.jobs_on(node.node);
  for (const JobNumber number : jobs) {
    const Job* job = state_.find_job(number);
    if (job == nullptr || job->state != JobState::starting || job->current->sent >= began_) continue;
    const Part* part = job->current->find(node.node);
    const AttemptName name{number, job->current->number};
    if (part->sealed || part->running || part->boot != node.boot ||
        std::find(node.running.begin(), node.running.end(), name) != node.running.end()) {
      continue;
    }
    stop_attempt(
        *job, StopCause::timeout,
        fmt::format("the controller restarted before {} had started it", state_.machine().node(node.node).name), step);
  }
}

// A part that was seen running and is missing from a list: lists may be stale or partial, so it takes two of them, and
// when much is missing at once nothing is concluded.
void Controller::vanish(const Inventory& inventory, Step& step) {
  std::vector<std::pair<JobNumber, sched::NodeId>> missing;
  std::size_t expected = 0;
  for (const NodeInventory& node : inventory.nodes) {
    if (sched::index_of(node.node) >= state_.node_count()) continue;
    for (const JobNumber number : state_.jobs_on(node.node)) {
      const Job& job = *state_.find_job(number);
      const Part* part = job.current->find(node.node);
      if (!part->running || part->boot != node.boot || inventory.observed <= job.current->sent) continue;
      ++expected;
      const AttemptName name{number, job.current->number};
      if (std::find(node.running.begin(), node.running.end(), name) == node.running.end())
        missing.emplace_back(number, node.node);
    }
  }
  const bool mass = missing.size() >= 3 && static_cast<double>(missing.size()) >
                                               options_.breaker.disappearance * static_cast<double>(expected);
  if (mass && !has(Defect::believe_disappearance)) {
    if (state_.tripped()) return;
    Record tripped = record(RecordKind::breaker);
    tripped.code = 1;
    tripped.text = fmt::format("{} of {} running parts are missing from the engine's list", missing.size(), expected);
    emit(step, std::move(tripped));
    return;
  }
  for (const auto& [number, node] : missing) {
    const Job* job = state_.find_job(number);
    if (job == nullptr || !job->current) continue;
    if (has(Defect::believe_disappearance)) {
      seal(number, node, PartEnd::stopped, 0, "not in the engine's list", step);
    } else if (++heard_[sched::index_of(node)].missing >= 2) {
      heard_[sched::index_of(node)].missing = 0;
      stop_attempt(*job, StopCause::node_lost, fmt::format("no longer runs on {}", state_.machine().node(node).name),
                   step);
    }
  }
}

void Controller::on(const CheckpointWritten& report, Step& step) {
  const Job* job = state_.find_job(report.name.job);
  if (job == nullptr || !job->current || job->current->number != report.name.attempt) return;
  if (report.checkpoint > job->checkpoint) {
    Record written = attempt_record(RecordKind::checkpoint_written, *job);
    written.text = report.checkpoint;
    written.value = report.step;
    written.until = sched::Moment(std::max<std::int64_t>(0, report.took.count()));
    if (!emit(step, std::move(written))) return;
    scheduler_->checkpointed(ids_.at(report.name.job), now_);
    if (report.step > job->current->step) prove_drill(*job, step);
  }
  if (job->state == JobState::checkpointing && report.observed >= job->current->stopped) {
    send_stop(*job, job->current->cause, job->current->cause_text, step);
  }
}

void Controller::on(const CheckpointVerified& report, Step& step) {
  const auto found = verifying_.find(report.operation);
  if (found == verifying_.end()) return;
  const AttemptName name = found->second;
  verifying_.erase(found);
  const Job* job = state_.find_job(name.job);
  if (job == nullptr || !job->current || job->current->number != name.attempt || job->current->chosen) return;
  Record outcome = record(RecordKind::outcome);
  outcome.operation = report.operation;
  outcome.code = static_cast<std::uint8_t>(report.readable ? OperationEnd::succeeded : OperationEnd::transient);
  emit(step, std::move(outcome));
  if (!report.readable &&
      !has(Defect::unreadable_is_empty)) {  // no answer is not "no checkpoint": the job waits and asks again
    unplace(*job, "a checkpoint volume cannot be read: " + report.rejected, step);
    scheduler_->hold(ids_.at(name.job), now_ + sched::seconds(60), now_);
    return;
  }
  Record chosen = attempt_record(RecordKind::checkpoint_chosen, *job);
  chosen.text = report.checkpoint;
  chosen.note = report.path;
  chosen.value = report.step;
  chosen.key = report.rejected;
  if (!emit(step, std::move(chosen))) return;
  if (report.checkpoint.empty() && job->drill && job->drill->result == DrillResult::pending) {
    end_drill(*job, DrillResult::failed, "no intact checkpoint: " + report.rejected, step);
  }
  advance(name.job, step);
}

// The jobs that changed since the last tick and those with a deadline, in the order of their numbers: nothing happens
// to the others.
void Controller::check_jobs(Step& step) {
  std::vector<JobNumber> due = std::exchange(touched_, {});
  for (auto next = deadlines_.begin(); next != deadlines_.end() && next->first <= now_; ++next) {
    due.push_back(next->second);
  }
  std::sort(due.begin(), due.end());
  due.erase(std::unique(due.begin(), due.end()), due.end());
  std::erase_if(due, [&](JobNumber number) {
    if (const auto known = deadline_of_.find(number); known != deadline_of_.end()) {
      deadlines_.erase({known->second, number});
      deadline_of_.erase(known);
    }
    return !active_.contains(number);
  });
  for (const JobNumber number : due) {
    if (const Job* job = state_.find_job(number); job != nullptr && job->current) check_deadlines(*job, step);
    advance(number, step);
    const Job* const job = state_.find_job(number);
    const sched::Moment next = job != nullptr && job->current ? next_deadline(*job) : sched::kNever;
    if (next == sched::kNever) continue;
    deadlines_.emplace(next, number);
    deadline_of_[number] = next;
  }
}

// The earliest moment at which check_deadlines() or advance() does something, if the job does not change before it.
sched::Moment Controller::next_deadline(const Job& job) const {
  const Attempt& attempt = *job.current;
  const Duration grace = job.spec->shape.grace;
  switch (job.state) {
    case JobState::starting:
      return attempt.sent + options_.start_timeout;
    case JobState::running:
      return job.spec->shape.limit == sched::kUnlimited ? sched::kNever : attempt.running + job.spec->shape.limit;
    case JobState::checkpointing:
      return attempt.stopped + grace / 2;
    case JobState::stopping:
      return attempt.stopped + grace + options_.stop_repeat;
    default:
      return {};  // placed: it waits for other objects, which do not tell it
  }
}

void Controller::check_deadlines(const Job& job, Step& step) {
  const Attempt& attempt = *job.current;
  const Duration grace = job.spec->shape.grace;
  switch (job.state) {
    case JobState::placed:
      std::erase_if(verifying_, [&](const auto& each) {
        const auto sent = state_.open_operations().find(each.first);
        return each.second.job == job.number &&
               (sent == state_.open_operations().end() || now_ - sent->second.at > options_.start_timeout);
      });
      return;
    case JobState::starting:
      if (now_ - attempt.sent > options_.start_timeout) {
        stop_attempt(job, StopCause::timeout, "not every part was seen running in time", step);
      }
      return;
    case JobState::running:
      if (job.spec->shape.limit != sched::kUnlimited && now_ - attempt.running >= job.spec->shape.limit) {
        stop_attempt(job, StopCause::limit, "time limit reached", step);
      }
      return;
    case JobState::checkpointing:
      if (now_ - attempt.stopped >= grace / 2) send_stop(job, attempt.cause, attempt.cause_text, step);
      return;
    case JobState::stopping:
      if (now_ - attempt.stopped < grace + options_.stop_repeat) return;
      if (has(Defect::expiring_lease)) {
        const std::vector<Part> parts = attempt.parts;
        for (const Part& part : parts) seal(job.number, part.node, PartEnd::stopped, 0, "timeout", step);
      } else if (!has(Defect::no_stop_repeat)) {
        send_stop(job, attempt.cause, attempt.cause_text, step);
      }
      return;
    default:
      return;
  }
}

}  // namespace weft::control
