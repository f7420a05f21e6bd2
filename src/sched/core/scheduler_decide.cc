// Pass over the queue in policy order: which jobs start, and what the others wait for.
#include <algorithm>

#include "base/check.h"
#include "sched/core/scheduler_walk.h"

namespace weft::sched {

Scheduler::HeadKey Scheduler::head_key(JobId id, Moment now) const {
  const JobRecord& record = jobs_[index_of(id)];
  const Job& job = record.job;
  HeadKey key;
  key.id = id;
  key.third = job.submitted.count();
  double priority = job.priority;
  if (policy_.age_weight != 0) {
    const double age = seconds_of(now - job.submitted) / std::max(1e-9, seconds_of(policy_.max_age));
    priority += policy_.age_weight * std::clamp(age, 0.0, 1.0);
  }
  if (policy_.size_weight != 0 && machine().gpus() > 0) {
    priority += policy_.size_weight * static_cast<double>(job.gpu_milli()) /
                (static_cast<double>(machine().gpus()) * kWholeGpu);
  }
  if (policy_.fair_weight != 0) priority += policy_.fair_weight * tenants_.fair_share(record.tenant, now);
  key.first = -priority;
  const auto eldest = eldest_.find(job.priority);
  if (eldest != eldest_.end() && eldest->second == id) {
    key.second = -1;  // before any share, size or limit
    return key;
  }
  switch (policy_.order) {
    case Order::fifo:
      break;
    case Order::fair:
      key.second = tenants_.decayed_use(record.tenant, now) / std::max(1e-9, tenants_.policy(record.tenant).weight);
      break;
    case Order::dominant:
      key.second = tenants_.dominant_share(record.tenant, capacity_);
      break;
    case Order::shortest:
      key.second = seconds_of(job.limit);
      break;
  }
  return key;
}

void Scheduler::find_eldest(Moment now) {
  eldest_.clear();
  if (policy_.patience == kUnlimited) return;
  for (const std::uint32_t g : active_groups_) {
    const Group& group = groups_[g];
    if (!group.possible || group.reason == Reason::quota) continue;  // free resources alone do not help it
    for (const auto& [order, id] : group.jobs) {
      const Moment submitted = jobs_[index_of(id)].job.submitted;
      if (now - submitted >= policy_.patience) {
        const auto [found, added] = eldest_.emplace(group.key.priority, id);
        if (!added && submitted < jobs_[index_of(found->second)].job.submitted) found->second = id;
      }
      if (policy_.order != Order::shortest) break;  // the first of a group is its oldest
    }
  }
}

std::vector<JobId> Scheduler::queue(Moment now, std::size_t limit) const {
  std::vector<HeadKey> keys;
  for (const std::uint32_t g : active_groups_) {
    for (const auto& [order, id] : groups_[g].jobs) keys.push_back(head_key(id, now));
  }
  std::sort(keys.begin(), keys.end());
  std::vector<JobId> ids;
  for (const HeadKey& key : keys) {
    if (ids.size() < limit) ids.push_back(key.id);
  }
  for (const auto& [until, id] : held_) {
    if (ids.size() < limit) ids.push_back(id);
  }
  return ids;
}

std::int32_t Scheduler::admitted_tasks(JobId id, Walk& walk) const {
  const JobRecord& record = jobs_[index_of(id)];
  // A job with victims starts at a rank above theirs or waits: at a lower rank, the next job would preempt it again.
  const auto promised = promises_.find(id);
  const Charge least =
      promised != promises_.end() && promised->second.preempting ? promised->second.charge : Charge::surplus;
  const auto allowed = [&](std::int32_t tasks) {
    const std::optional<Charge> charge = admits(record, tasks, walk);
    return charge && *charge >= least;
  };
  if (allowed(record.job.tasks)) return record.job.tasks;
  const std::int32_t step = std::max(1, record.job.segment);
  std::int32_t low = record.job.fewest() / step;  // monotonic: if n tasks are not allowed, neither are more
  std::int32_t high = record.job.tasks / step;
  if (record.job.fewest() == record.job.tasks || !allowed(low * step)) return 0;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (allowed(middle * step) ? low : high) = middle;
  }
  return low * step;
}

Scheduler::Attempt Scheduler::attempt(JobId id, Moment now, Walk& walk) {
  const JobRecord& record = jobs_[index_of(id)];
  const Job& job = record.job;
  Attempt result;
  Gang gang = gang_of(job);
  gang.tasks = admitted_tasks(id, walk);
  if (gang.tasks == 0) {
    result.reason = Reason::quota;
    return result;
  }
  const FitClass& fits = index_.of(job.task, state_);
  const std::vector<std::int64_t>& whole = fits.sums[static_cast<std::size_t>(Level::cluster)];
  if (whole.empty() || whole[0] < job.fewest()) {  // the usual case: the machine is full
    result.reason = Reason::capacity;
    return result;
  }
  const auto why_not = [&] {  // with the reservations of others kept
    gang.tasks = job.fewest();
    return can_place(FitView(machine(), fits), gang, policy_.placement) ? Reason::reserved : Reason::capacity;
  };
  const Walk::Failure failure{job.task, job.fewest(), job.required, job.segment, job.segment_level};
  if (walk.has_failed(failure, job.limit)) {
    result.reason = why_not();
    return result;
  }
  const std::span<const NodeLimit> limits = limits_for(now, now + job.limit, walk);
  FitView view(machine(), fits, limits);
  const std::vector<NodeId> barred = barred_nodes(job, now);
  for (const NodeId node : barred) view.set(node, 0);
  if (job.fewest() < job.tasks) gang.tasks = most_tasks(view, gang);
  std::optional<Found> found;
  if (gang.tasks >= job.fewest()) found = find_nodes(view, gang, policy_.placement);
  if (!found) {
    if (barred.empty()) walk.failures.emplace_back(failure, job.limit);
    gang.tasks = job.fewest();
    // Others like it may be shorter, so that neither a reservation nor an outage is in their way.
    const bool fits_free =
        (!limits.empty() || !barred.empty()) && can_place(FitView(machine(), fits), gang, policy_.placement);
    result.reason = !fits_free ? Reason::capacity : limits.empty() ? Reason::barred : Reason::reserved;
    return result;
  }
  if (job.preference_wait.count() > 0 && found->level > job.preferred && now < record.queued + job.preference_wait) {
    result.reason = Reason::preference;
    return result;
  }
  Start start;
  start.job = id;
  start.placement = choose_slots(state_, job.task, *found, limits);
  start.level = found->level;
  start.backfilled = walk.blocked;
  const std::optional<Charge> charge = admits(record, static_cast<std::int64_t>(start.placement.slots.size()), walk);
  CHECK(charge.has_value(), "fewer tasks than were admitted are admitted");
  start.charge = *charge;
  result.start = std::move(start);
  return result;
}

Decisions Scheduler::decide(Moment now) {
  CHECK(now >= now_, "time never goes back");
  now_ = now;
  while (!held_.empty() && held_.begin()->first <= now) {
    const JobId id = held_.begin()->second;
    held_.erase(held_.begin());
    enqueue(id);
  }
  Decisions decisions;
  if (!dirty_ && now < wake_) return decisions;
  dirty_ = false;
  walk_queue(now, decisions);
  wake_ = next_wake(now);
  return decisions;
}

void Scheduler::walk_queue(Moment now, Decisions& decisions) {
  Walk walk;
  walk_ = &walk;
  for (auto& [id, promise] : promises_) {
    promise.active = false;
    if (promise.preempting) walk.preempting.push_back(id);
  }
  plan_.clear();
  exempt_until_ = kNever;
  struct Head {
    HeadKey key;
    std::uint32_t group = 0;
    bool operator<(const Head& other) const { return other.key < key; }  // std heaps keep the largest on top
  };
  std::vector<Head> heads;
  find_eldest(now);
  for (const std::uint32_t g : active_groups_) {
    if (groups_[g].possible) heads.push_back({head_key(groups_[g].jobs.begin()->second, now), g});
  }
  std::make_heap(heads.begin(), heads.end());
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end());
    const Head head = heads.back();
    heads.pop_back();
    const JobId id = head.key.id;
    const bool known = groups_[head.group].failed_at == state_.releases();
    if (walk.blocked && !known && ++walk.tested > policy_.backfill_depth) break;
    Attempt tried;
    tried.reason = Reason::capacity;
    if (!known) tried = considerate_attempt(id, now, walk);
    const auto next_in_group = [&] {
      Group& group = groups_[head.group];
      const auto next = group.jobs.upper_bound({order_in_group(jobs_[index_of(id)]), id});
      if (next == group.jobs.end()) return;
      heads.push_back({head_key(next->second, now), head.group});
      std::push_heap(heads.begin(), heads.end());
    };
    if (tried.start) {
      next_in_group();  // before the job leaves the group
      start_job(*tried.start, now);
      walk.limits_stale = true;
      walk.owed_stale = true;
      decisions.starts.push_back(std::move(*tried.start));
      continue;
    }
    Group& group = groups_[head.group];
    group.reason = tried.reason;
    if (tried.reason == Reason::capacity && !known) group.failed_at = state_.releases();
    if (!blocked(id, tried.reason, now, walk, decisions)) break;
    if (jobs_[index_of(id)].phase == JobPhase::running) {  // resources were freed for it immediately
      next_in_group();
      continue;
    }
    // Others like it may be short enough to be backfilled before the reservation, or may have waited long enough.
    const bool only_this =
        tried.reason == Reason::reserved || tried.reason == Reason::barred || tried.reason == Reason::preference;
    if (only_this) next_in_group();
  }
  if (!walk.borrowers.empty()) preempt_for_borrowers(now, walk, decisions);
  if (policy_.elastic) grow_elastic(now, walk, decisions);
  mind_preemptions(JobId{UINT32_MAX}, kLowestRank, walk);
  for (const Promise* promise : walk.active) plan_.push_back(promise->reservation);
  std::vector<JobId> old;  // reservations of jobs that are no longer among the first
  for (const auto& [id, promise] : promises_) {
    if (!promise.active && !promise.preempting) old.push_back(id);
  }
  for (const JobId id : old) drop_promise(id);
  walk_ = nullptr;
}

// A job cannot start now. Preempts for it or reserves resources. False: no job behind it may start.
bool Scheduler::blocked(JobId id, Reason reason, Moment now, Walk& walk, Decisions& decisions) {
  if (reason == Reason::preference) return true;
  const bool waits_for_victims = awaited_.count(id) > 0;
  const auto kept = promises_.find(id);
  // Victims may stop before their deadline; jobs that end before the start may run there meanwhile.
  const bool may_wait = kept != promises_.end() && (waits_for_victims || now < kept->second.reservation.start);
  if (may_wait && kept->second.preempting && still_holds(kept->second, now)) {
    walk.activate(kept->second);
    walk.blocked = true;
    return true;
  }
  if ((policy_.preemption || policy_.elastic) && preempt_for(id, now, walk, decisions)) {
    walk.blocked = true;
    return true;
  }
  if (const auto broken = promises_.find(id); broken != promises_.end() && broken->second.preempting) {
    drop_promise(id);  // what its victims released no longer suffices: drop the reservation
    jobs_[index_of(id)].barred = events_;
  }
  if (reason == Reason::quota) return true;
  if (policy_.defragment && reason == Reason::capacity && consolidate(id, now, walk, decisions)) {
    walk.blocked = true;
    return true;
  }
  walk.blocked = true;
  if (policy_.backfill == Backfill::none) return false;
  if (policy_.backfill == Backfill::reserved && walk.promised < policy_.reservations) {
    // A job may start on resources that victims freed for a job it outranks, but its reservation does not rely on them.
    mind_preemptions(id, kLowestRank, walk);
    promise(id, now, walk);
  }
  return true;
}

}  // namespace weft::sched
