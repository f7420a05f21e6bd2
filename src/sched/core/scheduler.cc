// Events and accounting: waiting jobs, running jobs, charges.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "sched/core/scheduler_walk.h"

namespace weft::sched {

std::string_view to_text(Order order) {
  switch (order) {
    case Order::fifo:
      return "fifo";
    case Order::fair:
      return "fair";
    case Order::dominant:
      return "dominant";
    case Order::shortest:
      return "shortest";
  }
  return "?";
}

std::string_view to_text(Backfill backfill) {
  switch (backfill) {
    case Backfill::none:
      return "none";
    case Backfill::greedy:
      return "greedy";
    case Backfill::reserved:
      return "reserved";
  }
  return "?";
}

Scheduler::Scheduler(const std::shared_ptr<const Machine>& machine, Policy policy, std::vector<TenantPolicy> tenants)
    : state_(machine),
      index_(policy.placement.scorer ? policy.placement.scorer : std::make_shared<BestFitScorer>()),
      policy_(std::move(policy)),
      tenants_(std::move(tenants)),
      empty_state_(std::make_shared<State>(machine)) {
  promised_on_.resize(state_.machine().nodes().size());
  for (const NodeShape& shape : state_.machine().nodes()) {
    capacity_ += {std::int64_t{shape.gpus} * kWholeGpu, shape.cpu, shape.memory_mib};
  }
  keep_spares();
}

Scheduler::GroupKey Scheduler::key_of(const JobRecord& record) const {
  const Job& job = record.job;
  GroupKey key;
  key.tenant = record.tenant;
  key.priority = job.priority;
  key.task = job.task;
  key.tasks = job.tasks;
  key.min_tasks = job.fewest();
  key.required = job.required;
  key.preference_wait = job.preference_wait.count();
  if (key.preference_wait > 0) key.preferred = job.preferred;
  key.segment = job.segment;
  key.segment_level = job.segment_level;
  key.excluded = job.excluded;
  return key;
}

std::int64_t Scheduler::order_in_group(const JobRecord& record) const {
  return policy_.order == Order::shortest ? record.job.limit.count() : record.job.submitted.count();
}

bool Scheduler::possible(const Job& job) {
  const FitClass& fits = empty_index_.of(job.task, *empty_state_);
  Gang gang = gang_of(job);
  gang.tasks = job.fewest();
  return find_nodes(FitView(machine(), fits), gang, policy_.placement).has_value();
}

JobId Scheduler::submit(Job job, Moment now) {
  ++events_;
  CHECK(now >= now_, "time never goes back");
  now_ = now;
  CHECK(problem_of(job).empty(), "a job is checked before it is submitted");
  const auto id = static_cast<JobId>(jobs_.size());
  JobRecord record;
  record.tenant = tenants_.id_of(job.tenant);
  record.job = std::move(job);
  if (record.job.submitted == Moment() || record.job.submitted > now) record.job.submitted = now;
  record.queued = now;
  jobs_.push_back(std::move(record));
  place_in_running_.push_back(UINT32_MAX);
  ++waiting_;
  enqueue(id);
  return id;
}

JobId Scheduler::adopt(Job job, Placement placement, Charge charge, Moment queued, Moment started, Moment now) {
  const JobId id = submit(std::move(job), now);
  JobRecord& record = jobs_[index_of(id)];
  record.queued = queued;
  for (const Slot& slot : placement.slots) {
    const std::uint32_t n = index_of(slot.node);
    if (spare_[n] == 0) continue;  // it was a replacement for a lost node
    spare_[n] = 0;
    used_spares_.push_back(slot.node);
    state_.set_up(slot.node, true);
  }
  start_job({id, std::move(placement), charge, false, Level::cluster}, now);
  ends_.erase({record.ends(), id});
  record.started = started;
  record.checkpointed = started;
  ends_.emplace(record.ends(), id);
  return id;
}

void Scheduler::restore_use(std::string_view tenant, double gpu_seconds, Moment at) {
  tenants_.restore_use(tenants_.id_of(tenant), gpu_seconds, at);
}

void Scheduler::enqueue(JobId id) {
  JobRecord& record = jobs_[index_of(id)];
  dirty_ = true;
  if (record.not_before > now_) {
    held_.emplace(record.not_before, id);
    return;
  }
  const GroupKey key = key_of(record);
  const auto [found, added] = group_by_key_.emplace(key, static_cast<std::uint32_t>(groups_.size()));
  if (added) {
    Group group;
    group.key = key;
    group.possible = possible(record.job);
    groups_.push_back(std::move(group));
  }
  record.group = found->second;
  groups_[record.group].jobs.emplace(order_in_group(record), id);
  active_groups_.insert(record.group);
}

void Scheduler::dequeue(JobId id) {
  const JobRecord& record = jobs_[index_of(id)];
  dirty_ = true;
  if (held_.erase({record.not_before, id}) > 0) return;
  Group& group = groups_[record.group];
  group.jobs.erase({order_in_group(record), id});
  if (group.jobs.empty()) active_groups_.erase(record.group);
}

void Scheduler::take_slots(JobId id, std::span<const Slot> slots, std::uint32_t first_task) {
  const JobRecord& record = jobs_[index_of(id)];
  state_.place(id, record.job.task, slots, first_task);
  touch_promises(record.job.task, slots, false);
}

void Scheduler::give_slots(JobId id, std::span<const Slot> slots) {
  const JobRecord& record = jobs_[index_of(id)];
  state_.remove(id, record.job.task, slots);
  touch_promises(record.job.task, slots, true);
}

void Scheduler::start_job(const Start& start, Moment now) {
  JobRecord& record = jobs_[index_of(start.job)];
  dequeue(start.job);
  const auto promised = promises_.find(start.job);
  const bool was_preempting = promised != promises_.end() && promised->second.preempting;
  drop_promise(start.job);
  --waiting_;
  record.phase = JobPhase::running;
  record.charge = start.charge;
  record.placement = start.placement;
  record.started = now;
  record.checkpointed = now;
  place_in_running_[index_of(start.job)] = static_cast<std::uint32_t>(running_.size());
  running_.push_back(start.job);
  ends_.emplace(record.ends(), start.job);
  if (record.job.fewest() < record.job.tasks) elastic_running_.insert(start.job);
  take_slots(start.job, record.placement.slots, 0);
  tenants_.charge(record.tenant, amounts_of(record.job.task, record.running_tasks()), record.charge, now);
  if (was_preempting) promote_borrowers(record.tenant);
}

void Scheduler::release_job(JobId id, Moment now) {
  JobRecord& record = jobs_[index_of(id)];
  ends_.erase({record.phase == JobPhase::stopping ? record.stops_by : record.ends(), id});
  if (record.being_preempted) {
    const auto awaited = awaited_.find(record.preempted_by);
    if (awaited != awaited_.end() && --awaited->second == 0) awaited_.erase(awaited);
    record.being_preempted = false;
  }
  give_slots(id, record.placement.slots);
  tenants_.uncharge(record.tenant, amounts_of(record.job.task, record.running_tasks()), record.charge, now);
  record.placement.slots.clear();
  const std::uint32_t hole = place_in_running_[index_of(id)];
  running_[hole] = running_.back();
  place_in_running_[index_of(running_[hole])] = hole;
  running_.pop_back();
  place_in_running_[index_of(id)] = UINT32_MAX;
  elastic_running_.erase(id);
  promote_borrowers(record.tenant);
  dirty_ = true;
}

// Usage that a tenant releases frees its own quota for its jobs that run on borrowed quota.
void Scheduler::promote_borrowers(TenantId tenant) {
  if (!tenants_.limited(tenant) || tenants_.guaranteed(tenant) == tenants_.used(tenant)) return;
  for (const auto& [id, promise] : promises_) {  // what victims release is for the job they were preempted for
    if (promise.preempting && jobs_[index_of(id)].tenant == tenant) return;
  }
  std::vector<JobId> borrowers;
  for (const JobId id : running_) {
    const JobRecord& record = jobs_[index_of(id)];
    const bool stays = record.phase == JobPhase::running;  // not stopping
    if (stays && record.tenant == tenant && record.charge == Charge::borrowed) borrowers.push_back(id);
  }
  std::sort(borrowers.begin(), borrowers.end(), [&](JobId a, JobId b) {
    const JobRecord& left = jobs_[index_of(a)];
    const JobRecord& right = jobs_[index_of(b)];
    if (left.job.priority != right.job.priority) return left.job.priority > right.job.priority;
    return left.started != right.started ? left.started < right.started : a < b;
  });
  for (const JobId id : borrowers) {
    JobRecord& record = jobs_[index_of(id)];
    if (tenants_.promote(tenant, amounts_of(record.job.task, record.running_tasks()))) {
      record.charge = Charge::guaranteed;
    }
  }
}

void Scheduler::finish(JobId id, Moment now) {
  ++events_;
  CHECK(now >= now_, "time never goes back");
  now_ = now;
  JobRecord& record = jobs_[index_of(id)];
  if (record.phase == JobPhase::done) return;
  if (record.phase == JobPhase::waiting) {
    dequeue(id);
    drop_promise(id);
    --waiting_;
  } else {
    release_job(id, now);
  }
  record.phase = JobPhase::done;
}

void Scheduler::stopped(JobId id, Moment now) {
  CHECK(now >= now_, "time never goes back");
  now_ = now;
  JobRecord& record = jobs_[index_of(id)];
  CHECK(record.phase == JobPhase::stopping || record.phase == JobPhase::running, "only what runs can stop");
  release_job(id, now);
  record.phase = JobPhase::waiting;
  record.queued = now;
  ++record.preemptions;
  ++waiting_;
  enqueue(id);
}

void Scheduler::checkpointed(JobId id, Moment now) { jobs_[index_of(id)].checkpointed = now; }

void Scheduler::hold(JobId id, Moment until, Moment now) {
  ++events_;
  now_ = std::max(now_, now);
  JobRecord& record = jobs_[index_of(id)];
  if (record.phase != JobPhase::waiting) return;
  dequeue(id);
  drop_promise(id);
  record.not_before = until;
  enqueue(id);
}

void Scheduler::replace(JobId id, Job job, Moment now) {
  ++events_;
  now_ = std::max(now_, now);
  JobRecord& record = jobs_[index_of(id)];
  CHECK(record.phase == JobPhase::waiting, "only a waiting job can be changed");
  CHECK(problem_of(job).empty(), "a job is checked before it is submitted");
  dequeue(id);
  drop_promise(id);
  record.tenant = tenants_.id_of(job.tenant);
  record.job = std::move(job);
  enqueue(id);
}

void Scheduler::node_down(NodeId node, Moment now) {
  ++events_;
  now_ = std::max(now_, now);
  state_.set_up(node, false);
  for (const JobId id : promised_on_[index_of(node)]) promises_.at(id).checked = false;
  dirty_ = true;
}

void Scheduler::node_up(NodeId node, Moment now) {
  ++events_;
  now_ = std::max(now_, now);
  if (spare_[index_of(node)] != 0 || becomes_spare(node)) return;
  state_.set_up(node, true);
  for (auto& [id, promise] : promises_) promise.shortfall = 0;
  dirty_ = true;
}

// A reservation is rechecked if one of its nodes changed, or if enough was freed to start sooner.
void Scheduler::touch_promises(const Request& task, std::span<const Slot> slots, bool freed) {
  if (promises_.empty()) return;
  for (const Slot& slot : slots) {
    for (const JobId id : promised_on_[index_of(slot.node)]) promises_.at(id).checked = false;
  }
  if (!freed) return;
  for (auto& [id, promise] : promises_) {
    const Request& wanted = jobs_[index_of(id)].job.task;
    std::int64_t each = 1;  // a slot frees what it held, and may complete what was almost enough
    if (wanted.gpus > 0) {
      each += task.gpu_total() / std::max(1, wanted.gpu_total());
    } else {
      each += task.cpu / std::max(1, wanted.cpu);
    }
    promise.shortfall -= each * static_cast<std::int64_t>(slots.size());
  }
}

void Scheduler::keep_promise(JobId id, Promise promise) {
  drop_promise(id);
  NodeId last{};
  bool any = false;
  for (const Slot& slot : promise.reservation.placement.slots) {
    if (!any || slot.node != last) promised_on_[index_of(slot.node)].push_back(id);
    last = slot.node;
    any = true;
  }
  promises_[id] = std::move(promise);
  if (walk_ != nullptr) walk_->rooms.clear();
}

void Scheduler::drop_promise(JobId id) {
  const auto found = promises_.find(id);
  if (found == promises_.end()) return;
  if (walk_ != nullptr && found->second.active) walk_->deactivate(found->second);
  for (const Slot& slot : found->second.reservation.placement.slots) {
    std::vector<JobId>& here = promised_on_[index_of(slot.node)];
    here.erase(std::remove(here.begin(), here.end(), id), here.end());
  }
  promises_.erase(found);
  if (walk_ != nullptr) walk_->rooms.clear();
  // Its resources may let the others start sooner, so their reservations must be planned again.
  for (auto& [other, promise] : promises_) promise.shortfall = 0;
}

Moment Scheduler::next_wake(Moment now) const {
  Moment wake = kNever;
  if (!held_.empty()) wake = held_.begin()->first;
  if (exempt_until_ > now) wake = std::min(wake, exempt_until_);
  for (const std::uint32_t g : active_groups_) {
    const Group& group = groups_[g];
    if (group.key.preference_wait == 0) continue;
    for (const auto& [order, id] : group.jobs) {
      const Moment until = jobs_[index_of(id)].queued + Duration(group.key.preference_wait);
      if (until > now) wake = std::min(wake, until);
    }
  }
  return wake;
}

std::string Scheduler::broken_invariant() const {
  std::vector<NodeFree> left;
  for (const NodeShape& shape : machine().nodes()) left.push_back(empty_node(shape));
  for (const JobId id : running_) {
    const JobRecord& record = jobs_[index_of(id)];
    const std::int32_t tasks = record.running_tasks();
    if (tasks < record.job.fewest() || tasks > record.job.tasks) {
      return fmt::format("{} runs with {} of {} tasks", record.job.name, tasks, record.job.tasks);
    }
    if (tightest_level(machine(), record.placement.slots) > record.job.required) {
      return record.job.name + " is spread beyond its required domain";
    }
    for (const Slot& slot : record.placement.slots) take(left[index_of(slot.node)], record.job.task, slot);
  }
  for (std::uint32_t node = 0; node < left.size(); ++node) {
    left[node].up = state_.free(static_cast<NodeId>(node)).up;
    if (!(left[node] == state_.free(static_cast<NodeId>(node)))) {
      return "the books of " + machine().node(static_cast<NodeId>(node)).name + " do not add up";
    }
  }
  if (!tenants_.balanced()) return "a cohort lends more than it has";
  return {};
}

}  // namespace weft::sched
