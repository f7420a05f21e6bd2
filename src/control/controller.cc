// Dispatch of events, restart, and the scheduler's view of the state.
#include "control/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace weft::control {

Controller::Controller(std::shared_ptr<const sched::Machine> machine, ControllerOptions options)
    : Controller(ControlState(std::move(machine)), std::move(options)) {}

Controller::Controller(ControlState state, ControllerOptions options)
    : state_(std::move(state)),
      options_(std::move(options)),
      heard_(state_.node_count()),
      lease_heard_(state_.node_count()),
      now_(state_.now()) {
  // A resize restarts a job with another number of tasks; it is not worth the restart while the job runs well.
  options_.policy.elastic = false;
  options_.policy.defragment = false;
  for (const auto& [number, job] : state_.jobs()) {
    if (job.current) active_.insert(number);
    if (job.drill && job.drill->result == DrillResult::pending) drilling_.insert(number);
  }
}

Record Controller::record(RecordKind kind) const {
  Record record;
  record.kind = kind;
  return record;
}

Record Controller::attempt_record(RecordKind kind, const Job& job) const {
  Record out = record(kind);
  out.job = job.number;
  out.attempt = job.current->number;
  return out;
}

bool Controller::emit(Step& step, Record record) {
  record.at = now_;
  if (const Status applied = state_.apply(record); !applied.ok()) {
    if (error_.empty()) error_ = applied.error().text();
    return false;
  }
  if (record.job != 0) touched_.push_back(record.job);
  step.records.push_back(std::move(record));
  return true;
}

std::optional<sched::JobId> Controller::scheduler_id(JobNumber job) const {
  const auto found = ids_.find(job);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

// The scheduler holds only jobs that have not ended, so that its memory does not grow with the age of the controller.
void Controller::build_scheduler() {
  scheduler_ = std::make_unique<sched::Scheduler>(std::make_shared<const sched::Machine>(state_.machine()),
                                                  options_.policy, options_.tenants);
  ids_.clear();
  numbers_.clear();
  for (const auto& [tenant, use] : state_.tenant_use()) scheduler_->restore_use(tenant, use.gpu_seconds, use.at);
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto node = static_cast<sched::NodeId>(n);
    heard_[n].usable = is_usable(node);
    if (!heard_[n].usable) scheduler_->node_down(node, now_);
  }
  plan_outages();
  for (const auto& [number, job] : state_.jobs()) {
    sched::Job shape = job.spec->shape;
    shape.submitted = job.submitted;
    shape.excluded = excluded_nodes(job);
    std::sort(shape.excluded.begin(), shape.excluded.end());
    const sched::JobId id =
        job.current ? scheduler_->adopt(std::move(shape), {job.current->slots}, job.current->charge, job.queued,
                                        std::max(job.current->placed, job.current->running), now_)
                    : scheduler_->submit(std::move(shape), now_);
    ids_[number] = id;
    numbers_.push_back(number);
    if (job.current && has(Defect::forget_quota_use)) {
      const sched::TenantId tenant = scheduler_->record(id).tenant;
      sched::Amounts quota = scheduler_->tenants().policy(tenant).quota;
      quota += sched::amounts_of(job.spec->shape.task, static_cast<std::int64_t>(job.current->slots.size()));
      scheduler_->set_limits(tenant, quota, scheduler_->tenants().policy(tenant).borrow, now_);
    }
    if (job.current) continue;
    if (job.held) {
      scheduler_->hold(id, sched::kNever, now_);
    } else if (job.not_before > now_) {
      scheduler_->hold(id, job.not_before, now_);
    }
  }
}

void Controller::begin(sched::Moment now, Step& step) {
  now_ = began_ = std::max(now, state_.now());
  term_ = std::max(term_ + 1, static_cast<Term>(now_.count()));
  if (state_.format() < options_.journal_format &&
      !has(Defect::no_format_record)) {  // before anything that earlier versions cannot read
    Record format = record(RecordKind::format);
    format.value = options_.journal_format;
    emit(step, std::move(format));
  }
  for (Heard& heard : heard_) heard.listed = false;
  lease_heard_.assign(state_.node_count(), {});
  step.commands.emplace_back(QueryInventory{term_});
  queried_ = now_;
  build_scheduler();
  // An operation without an outcome is ambiguous: it is observed, not repeated, except where repetition has no effect.
  const std::set<JobNumber> active = active_;
  touched_.insert(touched_.end(), active.begin(), active.end());
  for (const JobNumber number : active) {
    const Job& job = *state_.find_job(number);
    if (job.state == JobState::stopping) send_stop(job, job.current->cause, job.current->cause_text, step);
    if (has(Defect::restart_on_recovery) && job.state == JobState::starting) {
      step.commands.emplace_back(StartAttempt{job.current->start,
                                              term_,
                                              {number, job.current->number},
                                              job.spec,
                                              job.current->slots,
                                              std::vector<BootId>(job.current->slots.size()),
                                              {},
                                              {},
                                              {}});
    }
    if (state_.find_job(number) != nullptr) advance(number, step);
  }
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto node = static_cast<sched::NodeId>(n);
    const auto& session = state_.node(node).session;
    if (!session) continue;
    const bool repeatable = session->step == SessionStep::quarantine || session->step == SessionStep::release ||
                            session->step == SessionStep::validate;
    if (repeatable) move_session(node, session->step, "the controller restarted", step);
  }
  begin_leases(step);
}

void Controller::handle(const Event& event, sched::Moment now, Step& step) {
  CHECK(scheduler_ != nullptr, "begin() was not called");
  now_ = std::max({now, state_.now(), now_});  // a clock that is set back does not turn time back
  std::visit([&](const auto& each) { on(each, step); }, event);
}

void Controller::on(const Tick&, Step& step) {
  bool unlisted = false;
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    check_node(static_cast<sched::NodeId>(n), step);
    unlisted = unlisted || !heard_[n].listed || !heard_[n].foreign.empty();
  }
  const Duration period = has(Defect::rare_inventory) ? sched::seconds(36'000)
                          : unlisted                  ? options_.stale_after / 2
                                                      : options_.inventory_period;
  if (now_ - queried_ >= period) {
    queried_ = now_;
    step.commands.emplace_back(QueryInventory{term_});
  }
  check_reservations(step);
  check_breaker(step);
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto node = static_cast<sched::NodeId>(n);
    if (state_.node(node).session) {
      advance_session(node, step);
    } else if (state_.node(node).health == Health::fatal) {
      open_session(node, step);
    }
  }
  check_leases(step);
  save_tenant_use(step);
  check_drills(step);
  check_jobs(step);
}

void Controller::on(const CommandReply& reply, Step& step) {
  const auto found = state_.open_operations().find(reply.operation);
  if (found == state_.open_operations().end()) return;  // closed or superseded: it belongs to no current step
  const Record sent = found->second;
  Record outcome = record(RecordKind::outcome);
  outcome.operation = reply.operation;
  outcome.text = reply.text;
  outcome.code =
      static_cast<std::uint8_t>(reply.kind == ReplyKind::transient ? OperationEnd::transient : OperationEnd::permanent);
  const Job* job = state_.find_job(sent.job);
  const bool current = job != nullptr && job->current && job->current->number == sent.attempt;
  if (sent.kind == RecordKind::attempt_stopping && current && has(Defect::believe_scheduler) &&
      reply.kind == ReplyKind::accepted) {
    const std::vector<Part> parts = job->current->parts;
    for (const Part& part : parts) seal(sent.job, part.node, PartEnd::stopped, 0, "stop accepted", step);
    return;
  }
  if (sent.kind == RecordKind::attempt_starting && current && reply.kind == ReplyKind::ambiguous &&
      has(Defect::retry_ambiguous_start)) {
    step.commands.emplace_back(StartAttempt{reply.operation,
                                            term_,
                                            {sent.job, sent.attempt},
                                            job->spec,
                                            job->current->slots,
                                            std::vector<BootId>(job->current->slots.size()),
                                            {},
                                            {},
                                            {}});
    return;
  }
  // Accepted or ambiguous: reports decide.
  if (reply.kind == ReplyKind::accepted || reply.kind == ReplyKind::ambiguous) {
    const bool power = sent.kind == RecordKind::session_step && state_.node(sent.node).session &&
                       state_.node(sent.node).session->step == SessionStep::remediate;
    if (power && reply.kind == ReplyKind::ambiguous && has(Defect::retry_power)) {
      step.commands.emplace_back(PowerCycle{reply.operation, sent.session, sent.node});
    }
    return;
  }
  if (!emit(step, outcome)) return;
  if (sent.kind == RecordKind::attempt_starting && current && job->state == JobState::starting) {
    if (reply.kind == ReplyKind::transient && job->current->starts < options_.max_starts) {
      send_start(*job, step);
    } else {
      stop_attempt(*job, StopCause::timeout, "the engine refused the start: " + reply.text, step);
    }
  } else if (sent.kind == RecordKind::session_step || sent.kind == RecordKind::session_opened) {
    const auto& session = state_.node(sent.node).session;
    if (session && session->id == sent.session && session->operation == reply.operation) {
      // Refused: it was not done, so a further action is possible. A power cycle is the last one.
      const bool further = session->step == SessionStep::remediate && session->tried != RepairAction::power_cycle;
      const std::string why = "refused: " + reply.text;
      further ? note_failure(sent.node, why) : move_session(sent.node, SessionStep::person, why, step);
    }
  }
}

}  // namespace weft::control
