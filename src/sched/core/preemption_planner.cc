#include "sched/core/preemption_planner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"

namespace weft::sched {
namespace {

std::int64_t amount_of(const Request& wanted, const Request& given) {
  return wanted.gpus > 0 ? given.gpu_total() : given.cpu;
}

// Milliseconds, so sums over all jobs of a machine stay far below the limit of the type.
std::int64_t milliseconds(Duration duration) { return duration.count() / 1'000'000; }

}  // namespace

NodeFree Scheduler::PreemptionPlanner::NodeCapacity::with(std::uint64_t gone) const {
  std::optional<NodeFree> least;
  for (const auto& [when, free_then] : free) {
    NodeFree here = free_then;
    for (const Guest& guest : guests) {
      const bool given_back = when != free.front().first && guest.ends <= when;
      if (!given_back && ((gone >> guest.local) & 1U) != 0) give_back(here, *guest.request, guest.slot);
    }
    for (const Owed& promised : owed) {
      if (promised.start <= when && when < promised.end) subtract(here, *promised.request, promised.slot);
    }
    least = least ? least_of(*least, here) : here;
  }
  return *least;
}

Scheduler::PreemptionPlanner::PreemptionPlanner(Scheduler& scheduler, JobId id, Moment now, Walk& walk,
                                                Decisions& decisions)
    : s_(scheduler), id_(id), record_(scheduler.jobs_[index_of(id)]), now_(now), walk_(walk), decisions_(decisions) {}

bool Scheduler::PreemptionPlanner::started_just_now(JobId job) const {
  return std::any_of(decisions_.starts.begin(), decisions_.starts.end(),
                     [&](const Start& start) { return start.job == job; });
}

bool Scheduler::PreemptionPlanner::may_be_evicted(JobId victim, Rank rank) {
  const JobRecord& other = s_.jobs_[index_of(victim)];
  if (other.phase != JobPhase::running || other.job.inference || !other.job.preemptible) return false;
  if (!(other.rank() < rank)) return false;
  if (other.charge == Charge::guaranteed && other.tenant != record_.tenant && s_.tenants_.limited(other.tenant)) {
    return false;  // on its tenant's own quota: only that tenant can reclaim it
  }
  if (const Moment safe_until = other.started + s_.policy_.exempt; safe_until > now_) {
    s_.exempt_until_ = std::min(s_.exempt_until_, safe_until);
    return false;
  }
  if (started_just_now(victim)) {  // a decision does not revert its own starts; the next one may
    s_.dirty_ = true;
    return false;
  }
  return true;
}

void Scheduler::PreemptionPlanner::add_whole(JobId victim) {
  const JobRecord& other = s_.jobs_[index_of(victim)];
  PreemptionProblem::Item item;
  item.loss = {std::llround(s_.lost_gpu_seconds(other, now_) * 1000), 1, milliseconds(now_ - other.started)};
  const auto number = static_cast<std::int32_t>(problem_.items.size());
  problem_.items.push_back(item);
  sources_.push_back({victim, {}});
  for (std::uint32_t task = 0; task < other.placement.slots.size(); ++task) {
    stands_.push_back({other.placement.slots[task].node, index_of(victim), task, number, -1});
  }
}

// Tasks (segments) that an elastic job can release, one by one: the loss is their restart cost.
void Scheduler::PreemptionPlanner::add_units(JobId victim) {
  const JobRecord& other = s_.jobs_[index_of(victim)];
  const std::int32_t spare = other.running_tasks() - other.job.fewest();
  const std::int32_t step = std::max(1, other.job.segment);
  if (spare < step) return;
  const bool whole = !sources_.empty() && sources_.back().job == victim;
  const std::size_t first = stands_.size() - (whole ? other.placement.slots.size() : 0);
  const auto pool = static_cast<std::int32_t>(problem_.pools.size());
  problem_.pools.push_back(spare / step);
  const double gpus = static_cast<double>(other.job.task.gpu_total()) * step / kWholeGpu;
  for (std::int32_t task = 0; task < other.running_tasks(); ++task) {
    if (task % step == 0) {
      PreemptionProblem::Item item;
      item.loss = {std::llround(gpus * seconds_of(other.job.restart_cost) * 1000), 1,
                   milliseconds(now_ - other.started)};
      item.pool = pool;
      problem_.items.push_back(item);
      sources_.push_back({victim, {}});
    }
    const auto number = static_cast<std::int32_t>(problem_.items.size()) - 1;
    const auto t = static_cast<std::uint32_t>(task);
    sources_.back().tasks.push_back(t);
    if (whole) {
      stands_[first + t].unit = number;
    } else {
      stands_.push_back({other.placement.slots[t].node, index_of(victim), t, -1, number});
    }
  }
}

void Scheduler::PreemptionPlanner::add_items(Rank rank) {
  std::vector<JobId> running(s_.running_.begin(), s_.running_.end());
  std::sort(running.begin(), running.end());  // the order must not depend on history
  for (const JobId other : running) {
    const JobRecord& record = s_.jobs_[index_of(other)];
    if (record.phase != JobPhase::running) continue;
    if (s_.policy_.preemption && may_be_evicted(other, rank)) add_whole(other);
    const bool elastic = s_.policy_.elastic && !record.job.inference && record.job.fewest() < record.running_tasks();
    if (!elastic) continue;
    if (started_just_now(other)) {
      s_.dirty_ = true;
    } else {
      add_units(other);
    }
  }
}

// The free resources of a node once the stopping jobs have ended: now, and when a reservation ahead begins.
Scheduler::PreemptionPlanner::NodeCapacity Scheduler::PreemptionPlanner::capacity_of(NodeId node) const {
  NodeCapacity room;
  room.node = node;
  std::vector<Moment> moments{now_};
  for (const JobId other : s_.promised_on_[index_of(node)]) {
    const Promise& promise = s_.promises_.at(other);
    if (!promise.active || promise.begins() >= end_) continue;
    const Moment start = std::max(now_, promise.begins());
    moments.push_back(start);
    for (const Slot& slot : promise.reservation.placement.slots) {
      if (slot.node != node) continue;
      room.owed.push_back({start, promise.reservation.end, &s_.jobs_[index_of(other)].job.task, slot});
    }
  }
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  for (const Moment when : moments) {
    NodeFree free = s_.state_.free(node);
    for (const Tenancy& task : s_.state_.tasks_on(node)) {
      const JobRecord& other = s_.jobs_[index_of(task.job)];
      const bool ended = when > now_ && other.ends() <= when;
      if ((waits_ && other.phase == JobPhase::stopping) || ended) {
        give_back(free, other.job.task, other.placement.slots[task.task]);
      }
    }
    room.free.emplace_back(when, free);
  }
  return room;
}

void Scheduler::PreemptionPlanner::add_nodes() {
  const Request& task = record_.job.task;
  std::sort(stands_.begin(), stands_.end(), [](const Stand& a, const Stand& b) {
    return a.node != b.node ? a.node < b.node : a.job != b.job ? a.job < b.job : a.task < b.task;
  });
  std::set<NodeId> others;
  for (const JobId other : s_.running_) {
    const JobRecord& record = s_.jobs_[index_of(other)];
    if (record.phase != JobPhase::stopping || !waits_) continue;
    for (const Slot& slot : record.placement.slots) others.insert(slot.node);
  }
  for (const Promise* promise : walk_.active) {
    for (const Slot& slot : promise->reservation.placement.slots) others.insert(slot.node);
  }
  const auto fit_in = [&](const NodeCapacity& room, std::uint64_t gone) {
    return static_cast<std::uint16_t>(count_fits(task, room.with(gone), most_));
  };
  for (std::size_t first = 0; first < stands_.size();) {
    std::size_t next = first;
    while (next < stands_.size() && stands_[next].node == stands_[first].node) ++next;
    const NodeId node = stands_[first].node;
    others.erase(node);
    const std::uint32_t n = index_of(node);
    const bool barred = std::binary_search(barred_.begin(), barred_.end(), node);
    if (barred || !accepts(task, s_.machine().node(node)) || !s_.state_.free(node).up) {
      first = next;
      continue;
    }
    NodeCapacity room = capacity_of(node);
    PreemptionProblem::Node entry;
    entry.node = n;
    for (; first < next; ++first) {
      const Stand& stand = stands_[first];
      const JobRecord& other = s_.jobs_[stand.job];
      const bool same =
          !entry.locals.empty() && entry.locals.back().whole == stand.whole && entry.locals.back().unit == stand.unit;
      if (!same) {
        if (entry.locals.size() == PreemptionProblem::kMaxLocals) continue;
        entry.locals.push_back({stand.whole, stand.unit, 0});
      }
      entry.locals.back().amount += amount_of(task, other.job.task);
      room.guests.push_back({&other.job.task, other.placement.slots[stand.task], other.ends(),
                             static_cast<std::uint32_t>(entry.locals.size() - 1)});
    }
    problem_.fit[n] = fit_in(room, 0);
    problem_.nodes.push_back(std::move(entry));
    capacities_.push_back(std::move(room));
  }
  for (const NodeId node : others) {
    if (!accepts(task, s_.machine().node(node)) || std::binary_search(barred_.begin(), barred_.end(), node)) continue;
    others_.push_back(capacity_of(node));
    problem_.fit[index_of(node)] = fit_in(others_.back(), 0);
  }
  problem_.count = [this, fit_in](std::uint32_t index, std::uint64_t gone) {
    return static_cast<std::int32_t>(fit_in(capacities_[index], gone));
  };
}

void Scheduler::PreemptionPlanner::add_quota(Charge charge) {
  const Tenants& tenants = s_.tenants_;
  const std::string& cohort = tenants.policy(record_.tenant).cohort;
  for (std::size_t i = 0; i < problem_.items.size(); ++i) {
    const TenantId tenant = s_.jobs_[index_of(sources_[i].job)].tenant;
    const bool lends = !cohort.empty() && tenants.policy(tenant).cohort == cohort;
    problem_.items[i].helps_quota = tenant == record_.tenant || lends;
  }
  // Released independently of this plan: usage of stopping jobs, minus what the jobs they stop for will use.
  std::map<std::pair<TenantId, Charge>, Amounts> before;
  for (const JobId other : s_.running_) {
    const JobRecord& record = s_.jobs_[index_of(other)];
    if (record.phase != JobPhase::stopping) continue;
    before[{record.tenant, record.charge}] += amounts_of(record.job.task, record.running_tasks());
  }
  for (const Promise* promise : walk_.active) {
    if (!promise->preempting) continue;
    const JobRecord& record = s_.jobs_[index_of(promise->reservation.job)];
    before[{record.tenant, promise->charge}] -= amounts_of(record.job.task, record.job.fewest());
  }
  const auto admits = [this, before, charge](const std::vector<std::uint32_t>& items) {
    std::map<std::pair<TenantId, Charge>, Amounts> back = before;
    std::optional<JobId> whole;  // a job's item precedes those of its parts
    for (const std::uint32_t item : items) {
      if (whole == sources_[item].job) continue;
      if (sources_[item].tasks.empty()) whole = sources_[item].job;
      const JobRecord& record = s_.jobs_[index_of(sources_[item].job)];
      const std::size_t tasks =
          sources_[item].tasks.empty() ? record.placement.slots.size() : sources_[item].tasks.size();
      back[{record.tenant, record.charge}] += amounts_of(record.job.task, static_cast<std::int64_t>(tasks));
    }
    std::vector<Tenants::GivenBack> given;
    given.reserve(back.size());
    for (const auto& [whose, amounts] : back) given.push_back({whose.first, amounts, whose.second});
    const std::optional<Charge> as =
        s_.tenants_.admits_after(record_.tenant, amounts_of(record_.job.task, record_.job.fewest()), given);
    return as && *as >= charge;
  };
  if (!admits({})) problem_.admits = admits;
}

void Scheduler::PreemptionPlanner::begin() {
  const Job& job = record_.job;
  problem_ = {};
  sources_.clear();
  stands_.clear();
  capacities_.clear();
  others_.clear();
  const FitClass& fits = s_.index_.of(job.task, s_.state_);
  fits_ = &fits;
  most_ = fits.most;
  problem_.machine = &s_.machine();
  problem_.gang = gang_of(job);
  problem_.gang.tasks = job.fewest();
  problem_.fit = fits.fit;
  barred_ = s_.unplannable_nodes(job);
  for (const NodeId node : barred_) problem_.fit[index_of(node)] = 0;
}

std::optional<Scheduler::PreemptionPlanner::Plan> Scheduler::PreemptionPlanner::plan(Charge charge) {
  const Rank rank{charge, record_.job.priority};
  if (!walk_.preempting.empty()) s_.mind_preemptions(id_, rank, walk_);
  if (s_.policy_.exempt == Duration() && !s_.eviction_suffices(record_, rank, now_, walk_)) {
    s_.note_new_victims(record_, rank, decisions_);
    return std::nullopt;
  }
  begin();
  add_items(rank);
  add_quota(charge);
  if (problem_.admits) {  // fails even if everything were evicted
    std::vector<std::uint32_t> all(problem_.items.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    if (!problem_.admits(all)) return std::nullopt;
  }
  return solve(charge);
}

std::optional<Scheduler::PreemptionPlanner::Plan> Scheduler::PreemptionPlanner::plan_moves(
    const std::set<JobId>& fixed) {
  if (!walk_.preempting.empty()) s_.mind_preemptions(id_, kLowestRank, walk_);
  waits_ = false;
  begin();
  const std::int64_t gpus = std::int64_t{record_.job.task.gpu_total()} * record_.job.fewest();
  std::vector<JobId> running(s_.running_.begin(), s_.running_.end());
  std::sort(running.begin(), running.end());
  for (const JobId other : running) {
    const JobRecord& record = s_.jobs_[index_of(other)];
    if (record.phase != JobPhase::running || record.job.inference || !record.job.preemptible) continue;
    // Jobs at least as large as the waiting one are not moved.
    if (std::int64_t{record.job.task.gpu_total()} * record.running_tasks() >= gpus) continue;
    if (fixed.count(other) == 0 && !started_just_now(other)) add_whole(other);
  }
  return solve(Charge::guaranteed);
}

std::optional<Scheduler::PreemptionPlanner::Plan> Scheduler::PreemptionPlanner::solve(Charge charge) {
  Moment latest = now_;
  for (const Source& source : sources_) {
    if (source.tasks.empty()) latest = std::max(latest, now_ + s_.jobs_[index_of(source.job)].job.grace);
  }
  for (const JobId other : s_.running_) {
    const JobRecord& record = s_.jobs_[index_of(other)];
    if (record.phase == JobPhase::stopping) latest = std::max(latest, record.stops_by);
  }
  end_ = latest + record_.job.limit;
  add_nodes();
  PreemptionEffort effort;
  effort.bound = false;
  std::optional<VictimSet> answer = find_victims(problem_, effort);
  if (!answer) return std::nullopt;
  CHECK(!problem_.admits || problem_.admits(answer->items), "room is made within quotas");
  return plan_of(std::move(*answer), charge);
}

// The victims, and the slots of the job once they have stopped.
Scheduler::PreemptionPlanner::Plan Scheduler::PreemptionPlanner::plan_of(VictimSet answer, Charge charge) const {
  Plan plan;
  plan.charge = charge;
  std::vector<char> gone(problem_.items.size(), 0);
  for (const std::uint32_t item : answer.items) {
    gone[item] = 1;
    const Source& source = sources_[item];
    if (source.tasks.empty()) {
      plan.evicted.push_back(source.job);
    } else {
      std::vector<std::uint32_t>& tasks = plan.shed[source.job];
      tasks.insert(tasks.end(), source.tasks.begin(), source.tasks.end());
    }
  }
  for (auto& [job, tasks] : plan.shed) std::sort(tasks.begin(), tasks.end());
  FitView view(s_.machine(), *fits_);
  std::vector<NodeLimit> limits;
  const auto is_gone = [&](std::int32_t item) { return item >= 0 && gone[static_cast<std::size_t>(item)] != 0; };
  for (std::size_t i = 0; i < capacities_.size(); ++i) {
    std::uint64_t mask = 0;
    const std::vector<PreemptionProblem::Local>& locals = problem_.nodes[i].locals;
    for (std::size_t l = 0; l < locals.size(); ++l) {
      if (is_gone(locals[l].whole) || is_gone(locals[l].unit)) mask |= std::uint64_t{1} << l;
    }
    limits.push_back({capacities_[i].node, capacities_[i].with(mask)});
  }
  for (const NodeCapacity& room : others_) limits.push_back({room.node, room.with(0)});
  std::sort(limits.begin(), limits.end(), [](const NodeLimit& a, const NodeLimit& b) { return a.node < b.node; });
  for (const NodeLimit& limit : limits) {
    view.set(limit.node, static_cast<std::uint16_t>(count_fits(record_.job.task, limit.free, most_)));
  }
  for (const NodeId node : barred_) view.set(node, 0);
  const std::optional<Found> found = find_nodes(view, problem_.gang, s_.policy_.placement);
  CHECK(found.has_value(), "a job for which room was made fits");
  plan.placement = choose_slots(s_.state_, record_.job.task, *found, limits);
  plan.answer = std::move(answer);
  return plan;
}

void Scheduler::PreemptionPlanner::tell(JobId victim) {
  JobRecord& other = s_.jobs_[index_of(victim)];
  Preempt preempt;
  preempt.victim = victim;
  preempt.by = id_;
  preempt.lost_gpu_seconds = s_.lost_gpu_seconds(other, now_);
  // A job that reaches its limit within its grace period ends then.
  preempt.deadline = std::max(now_, std::min(now_ + other.job.grace, other.ends()));
  s_.ends_.erase({other.ends(), victim});
  other.phase = JobPhase::stopping;
  for (const Slot& slot : other.placement.slots) s_.state_.note(slot.node);  // its resources count as evictable for all
  other.stops_by = preempt.deadline;
  other.being_preempted = true;
  other.preempted_by = id_;
  s_.ends_.emplace(other.stops_by, victim);
  ++s_.awaited_[id_];
  decisions_.preempts.push_back(preempt);
}

bool Scheduler::PreemptionPlanner::start_now(const Plan& plan) {
  const auto tasks = static_cast<std::int64_t>(plan.placement.slots.size());
  const std::optional<Charge> charge = s_.admits(record_, tasks, walk_);
  if (!charge) return false;
  Start start;
  start.job = id_;
  start.placement = plan.placement;
  start.charge = *charge;
  start.backfilled = walk_.blocked;
  start.level = tightest_level(s_.machine(), plan.placement.slots);
  s_.start_job(start, now_);
  decisions_.starts.push_back(std::move(start));
  return true;
}

void Scheduler::PreemptionPlanner::carry_out(const Plan& plan) {
  for (const JobId victim : plan.evicted) tell(victim);
  std::optional<Moment> deadline;  // of the last victim to release the job's nodes or the quota it needs
  const std::optional<Charge> at_once =
      s_.tenants_.admits(record_.tenant, amounts_of(record_.job.task, record_.job.fewest()));
  const bool needs_quota = !at_once || *at_once < plan.charge;
  const std::string& cohort = s_.tenants_.policy(record_.tenant).cohort;
  std::set<NodeId> nodes;
  for (const Slot& slot : plan.placement.slots) nodes.insert(slot.node);
  for (const JobId other : s_.running_) {
    const JobRecord& going = s_.jobs_[index_of(other)];
    if (going.phase != JobPhase::stopping) continue;
    const bool ours = going.being_preempted && going.preempted_by == id_;
    const bool here = std::any_of(going.placement.slots.begin(), going.placement.slots.end(),
                                  [&](const Slot& slot) { return nodes.count(slot.node) > 0; });
    const bool lends = !cohort.empty() && s_.tenants_.policy(going.tenant).cohort == cohort;
    const bool frees_quota = needs_quota && (lends || going.tenant == record_.tenant);
    if (ours || here || frees_quota) deadline = deadline ? std::max(*deadline, going.stops_by) : going.stops_by;
  }
  std::set<TenantId> gave;
  for (const auto& [job, tasks] : plan.shed) {
    Resize resize{job, false, {}, id_};
    for (const std::uint32_t task : tasks) resize.slots.push_back(s_.jobs_[index_of(job)].placement.slots[task]);
    s_.shrink_job(job, tasks, now_);
    gave.insert(s_.jobs_[index_of(job)].tenant);
    decisions_.resizes.push_back(std::move(resize));
  }
  walk_.limits_stale = true;
  walk_.owed_stale = true;
  walk_.prey.reset();
  if (!deadline && start_now(plan)) {
    for (const TenantId tenant : gave) s_.promote_borrowers(tenant);
    return;
  }
  Promise promise;
  const Moment start = std::max(now_, deadline.value_or(now_));
  promise.reservation = {id_, start, start + record_.job.limit, plan.placement};
  promise.shortfall = 1;
  promise.preempting = true;
  promise.charge = plan.charge;
  s_.keep_promise(id_, std::move(promise));
  walk_.preempting.push_back(id_);
  walk_.activate(s_.promises_.at(id_));
}

}  // namespace weft::sched
