// Preemption for a job that cannot start: elastic jobs release tasks they can spare, jobs of lower rank are preempted.
#include <algorithm>

#include "base/check.h"
#include "sched/core/preemption_planner.h"

namespace weft::sched {

double Scheduler::lost_gpu_seconds(const JobRecord& record, Moment now, bool told) const {
  const Job& job = record.job;
  const double gpus = static_cast<double>(job.task.gpu_total()) * record.running_tasks() / kWholeGpu;
  double lost = seconds_of(job.restart_cost);
  if (!told || !job.checkpoint_on_notice || job.grace.count() == 0) {
    const bool writes = job.checkpoint_interval.count() > 0;
    lost += seconds_of(now - (writes ? std::max(record.checkpointed, record.started) : record.started));
  }
  return gpus * lost;
}

std::optional<Charge> Scheduler::admits(const JobRecord& record, std::int64_t tasks, Walk& walk) const {
  const Amounts amounts = amounts_of(record.job.task, tasks);
  const std::optional<Charge> now = tenants_.admits(record.tenant, amounts);
  if (!now) return now;
  if (walk.owed_stale) {
    walk.owed.clear();
    walk.owed_stale = false;
    for (const Promise* promise : walk.active) {
      if (!promise->preempting) continue;
      const JobRecord& other = jobs_[index_of(promise->reservation.job)];
      Amounts taken;
      taken -= amounts_of(other.job.task, other.job.fewest());
      walk.owed.push_back({other.tenant, taken, promise->charge});
    }
    for (const JobId id : running_) {
      const JobRecord& other = jobs_[index_of(id)];
      if (walk.owed.empty()) break;
      if (other.phase != JobPhase::stopping) continue;
      walk.owed.push_back({other.tenant, amounts_of(other.job.task, other.running_tasks()), other.charge});
    }
  }
  if (walk.owed.empty()) return now;
  const std::optional<Charge> later = tenants_.admits_after(record.tenant, amounts, walk.owed);
  return later ? std::optional<Charge>(std::min(*now, *later)) : std::nullopt;
}

// Resources freed by victims are reserved for that job and for jobs of higher rank, regardless of queue order:
// otherwise a high-priority victim on borrowed quota would restart before the owner had started. True: some
// reservations no longer apply.
bool Scheduler::mind_preemptions(JobId next, Rank rank, Walk& walk) {
  bool freed = false;
  for (const JobId id : walk.preempting) {
    const auto found = promises_.find(id);
    if (found == promises_.end() || !found->second.preempting) continue;
    Promise& promise = found->second;
    const bool minded = id != next && rank <= Rank{promise.charge, jobs_[index_of(id)].job.priority};
    if (minded && !promise.active) walk.activate(promise);
    if (!minded && promise.active) {
      walk.deactivate(promise);
      freed = true;
    }
  }
  return freed;
}

// First tries without the resources freed for others; if that fails, uses those of jobs it outranks.
Scheduler::Attempt Scheduler::considerate_attempt(JobId id, Moment now, Walk& walk) {
  if (walk.preempting.empty()) return attempt(id, now, walk);
  const Rank rank = rank_now(id);
  mind_preemptions(id, kLowestRank, walk);
  Attempt considerate = attempt(id, now, walk);
  if (considerate.start && considerate.start->charge >= rank.charge) return considerate;
  return mind_preemptions(id, rank, walk) ? attempt(id, now, walk) : considerate;
}

// A lower bound on the rank the job would start with now.
Rank Scheduler::rank_now(JobId id) const {
  const JobRecord& record = jobs_[index_of(id)];
  const auto promised = promises_.find(id);
  if (promised != promises_.end() && promised->second.preempting) {
    return {promised->second.charge, record.job.priority};
  }
  const std::optional<Charge> charge = tenants_.admits(record.tenant, amounts_of(record.job.task, record.job.tasks));
  return {charge.value_or(Charge::borrowed), record.job.priority};
}

bool Scheduler::is_evictable(const JobRecord& other, const JobRecord& record, Rank rank) const {
  if (other.phase == JobPhase::stopping) return true;  // its resources become free anyway
  if (other.job.inference) return false;
  if (policy_.elastic && other.job.fewest() < other.job.tasks) return true;
  const bool others_quota =
      other.charge == Charge::guaranteed && other.tenant != record.tenant && tenants_.limited(other.tenant);
  return policy_.preemption && other.job.preemptible && other.rank() < rank && !others_quota;
}

// What a node has free while a job of this rank runs there from now on: everything that it may evict is gone, and the
// reservations ahead are kept.
NodeFree Scheduler::free_after_evictions(NodeId node, const JobRecord& record, Rank rank, Moment now,
                                         std::span<const Promise* const> ahead) const {
  const auto free_at = [&](Moment when) {
    NodeFree free = state_.free(node);
    for (const Tenancy& task : state_.tasks_on(node)) {
      const JobRecord& other = jobs_[index_of(task.job)];
      if (is_evictable(other, record, rank) || (when > now && other.ends() <= when)) {
        give_back(free, other.job.task, other.placement.slots[task.task]);
      }
    }
    for (const Promise* promise : ahead) {
      const Reservation& kept = promise->reservation;
      if (std::max(now, promise->begins()) > when || when >= kept.end) continue;
      for (const Slot& slot : kept.placement.slots) {
        if (slot.node == node) subtract(free, jobs_[index_of(kept.job)].job.task, slot);
      }
    }
    return free;
  };
  NodeFree least = free_at(now);
  for (const Promise* promise : ahead) {
    if (promise->begins() > now) least = least_of(least, free_at(promise->begins()));
  }
  return least;
}

bool Scheduler::eviction_suffices(const JobRecord& record, Rank rank, Moment now, Walk& walk) {
  const Job& job = record.job;
  if (job.task.mig.slices > 0) return true;  // not known: more free slices do not always hold more instances
  if (!walk.limited) {
    walk.limited = false;
    for (TenantId tenant = 0; tenant < tenants_.count(); ++tenant) *walk.limited |= tenants_.limited(tenant);
  }
  // Without quotas it does not matter whose job it is.
  const EvictionIndex::Key key{job.task, rank.charge, rank.priority, *walk.limited ? record.tenant : 0};
  const auto evict = [&](const Tenancy& task, NodeFree& free) {
    const JobRecord& other = jobs_[index_of(task.job)];
    if (is_evictable(other, record, rank)) give_back(free, other.job.task, other.placement.slots[task.task]);
  };
  const EvictionIndex::Room& room = evictable_.of(key, state_, evict);
  if (room.sum < job.fewest()) return false;
  std::vector<const Promise*> ahead;
  for (const Promise* promise : walk.active) {
    if (promise->begins() < now + job.limit) ahead.push_back(promise);
  }
  if (ahead.empty()) return true;
  for (const Walk::Room& known : walk.rooms) {
    if (known.position == room.position && known.key == key && known.ahead == ahead) return known.sum >= job.fewest();
  }
  std::int64_t sum = room.sum;
  std::vector<NodeId> nodes;
  for (const Promise* promise : ahead) {
    for (const Slot& slot : promise->reservation.placement.slots) nodes.push_back(slot.node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const NodeId node : nodes) {
    const std::uint16_t fit = room.fit[index_of(node)];
    if (fit > 0) sum += count_fits(job.task, free_after_evictions(node, record, rank, now, ahead), fit) - fit;
  }
  walk.rooms.push_back({key, std::move(ahead), room.position, sum});
  return sum >= job.fewest();
}

// Jobs that were started by this decision are no victims of it, but may be victims of the next one.
void Scheduler::note_new_victims(const JobRecord& record, Rank rank, const Decisions& decisions) {
  for (const Start& start : decisions.starts) {
    dirty_ = dirty_ || is_evictable(jobs_[index_of(start.job)], record, rank);
  }
}

bool Scheduler::preempt_for(JobId id, Moment now, Walk& walk, Decisions& decisions) {
  JobRecord& record = jobs_[index_of(id)];
  const Job& job = record.job;
  if (record.barred == events_) return false;
  if (!walk.prey) {
    Walk::Prey prey;
    for (const JobId other : running_) {
      const JobRecord& running = jobs_[index_of(other)];
      prey.stopping = prey.stopping || running.phase == JobPhase::stopping;
      if (running.phase != JobPhase::running || running.job.inference) continue;
      prey.elastic = prey.elastic || (policy_.elastic && running.job.fewest() < running.running_tasks());
      if (!running.job.preemptible || !policy_.preemption) continue;
      if (!prey.weakest || running.rank() < *prey.weakest) prey.weakest = running.rank();
    }
    walk.prey = prey;
  }
  const bool outranks = walk.prey->weakest && *walk.prey->weakest < Rank{Charge::guaranteed, job.priority};
  const bool waits = awaited_.count(id) > 0;
  if (!outranks && !walk.prey->elastic && !waits) return false;

  if (!walk.preempting.empty()) mind_preemptions(id, {Charge::guaranteed, job.priority}, walk);
  if (!waits && policy_.exempt == Duration() && walk.needs_no_victims(record, state_.log_end())) {
    note_new_victims(record, {Charge::guaranteed, job.priority}, decisions);
    return false;
  }
  PreemptionPlanner maker(*this, id, now, walk, decisions);
  std::optional<PreemptionPlanner::Plan> plan = maker.plan(Charge::guaranteed);
  const bool owner = tenants_.admits(record.tenant, amounts_of(job.task, job.fewest())) == Charge::guaranteed;
  if (!owner && (!plan || plan->answer.loss.victims > 0)) {
    std::optional<PreemptionPlanner::Plan> borrowing = maker.plan(Charge::borrowed);
    if (borrowing && (!plan || borrowing->answer.loss < plan->answer.loss)) plan = std::move(borrowing);
  }
  if (!plan) return false;
  // No preemption needed: an ordinary reservation of what the stopping jobs release is enough.
  if (plan->evicted.empty() && plan->shed.empty() && !waits) {
    if (plan->charge == Charge::guaranteed) walk.spared.push_back({record.group, job.limit, state_.log_end()});
    return false;
  }
  if (plan->charge != Charge::guaranteed && !walk.ended) {
    walk.borrowers.push_back(id);
    return false;
  }
  const auto promised = promises_.find(id);
  const bool again = promised != promises_.end() && promised->second.preempting;
  maker.carry_out(*plan);
  if (again && !plan->evicted.empty()) record.barred = events_;
  return true;
}

// Jobs that can only borrow preempt after the pass over the queue: a job behind them may outrank them, as the owner of
// the quota they would borrow, and the preemptions would have been useless. Jobs thus preempt in the order of their
// ranks.
void Scheduler::preempt_for_borrowers(Moment now, Walk& walk, Decisions& decisions) {
  walk.ended = true;
  for (const JobId id : walk.borrowers) {
    if (jobs_[index_of(id)].phase != JobPhase::waiting) continue;
    const auto promised = promises_.find(id);
    if (promised != promises_.end() && promised->second.active) walk.deactivate(promised->second);
    if (!preempt_for(id, now, walk, decisions) && promised != promises_.end()) walk.activate(promised->second);
  }
}

std::vector<Rank> Scheduler::committed_ranks() const {
  std::vector<Rank> ranks;
  for (const JobId id : running_) {
    if (jobs_[index_of(id)].phase == JobPhase::running) ranks.push_back(jobs_[index_of(id)].rank());
  }
  for (const auto& [id, promise] : promises_) {
    if (promise.preempting) ranks.push_back({promise.charge, jobs_[index_of(id)].job.priority});
  }
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) { return b < a; });
  return ranks;
}

}  // namespace weft::sched
