// Scheduling: decisions become attempts; the usage of tenants is journaled for the next start.
#include <algorithm>

#include "control/controller.h"

namespace weft::control {

void Controller::decide(sched::Moment now, Step& step) {
  now_ = std::max({now, state_.now(), now_});
  apply_lease_changes();
  const sched::Decisions decisions = scheduler_->decide(now_);
  for (const sched::Preempt& preempt : decisions.preempts) {
    const JobNumber number = numbers_[sched::index_of(preempt.victim)];
    const Job* job = state_.find_job(number);
    if (job != nullptr && job->current) stop_attempt(*job, StopCause::preempted, "preempted", step, true);
  }
  for (const sched::Start& start : decisions.starts) {
    const JobNumber number = numbers_[sched::index_of(start.job)];
    const Job& job = *state_.find_job(number);
    Record placed = record(RecordKind::attempt_placed);
    placed.job = number;
    placed.attempt = job.attempts + 1;
    placed.code = static_cast<std::uint8_t>(start.charge);
    placed.slots = start.placement.slots;
    for (const sched::Slot& slot : placed.slots) placed.boots.push_back(state_.node(slot.node).boot);
    if (emit(step, std::move(placed))) advance(number, step);
  }
  // Ended jobs stay in the scheduler's tables until it is rebuilt, at a cost proportional to the live jobs.
  if (numbers_.size() <= 10'000 + 4 * ids_.size()) return;
  const bool stopping = std::any_of(active_.begin(), active_.end(), [&](JobNumber number) {
    return scheduler_->record(ids_.at(number)).phase == sched::JobPhase::stopping;
  });
  if (!stopping) build_scheduler();
}

void Controller::save_tenant_use(Step& step) {
  if (now_ - saved_use_ < sched::seconds(600)) return;
  saved_use_ = now_;
  const sched::Tenants& tenants = scheduler_->tenants();
  for (sched::TenantId id = 0; id < tenants.count(); ++id) {
    Record use = record(RecordKind::tenant_use);
    use.user = tenants.policy(id).name;
    use.value = static_cast<std::int64_t>(tenants.decayed_use(id, now_) * 1e3);
    use.until = now_;
    emit(step, std::move(use));
  }
}

}  // namespace weft::control
