// Why a waiting job does not start: checks the constraints in the order of Reason, with the counts that the scheduler
// itself uses for placement.
#include <algorithm>
#include <array>

#include "sched/core/scheduler.h"

namespace weft::sched {
namespace {

using Sums = std::array<std::int64_t, 5>;

// Whether enough is free in total on the nodes that a task may run on, regardless of fragmentation.
bool enough_in_sum(const State& state, const Request& task, std::int64_t tasks) {
  const Sums asked = {task.gpu_total() * tasks, task.cpu * tasks, task.memory_mib * tasks, task.functions * tasks,
                      task.scratch_gib * tasks};
  if (state.free_gpu_milli() < asked[0]) return false;
  Sums free{};
  const auto covered = [&] {
    return std::equal(asked.begin(), asked.end(), free.begin(), [](std::int64_t a, std::int64_t f) { return a <= f; });
  };
  const std::span<const NodeShape> shapes = state.machine().nodes();
  for (std::uint32_t n = 0; n < shapes.size(); ++n) {
    const NodeFree& node = state.free(static_cast<NodeId>(n));
    if (!node.up || !accepts(task, shapes[n])) continue;
    free[0] += node.gpu_total();
    free[1] += node.cpu;
    free[2] += node.memory_mib;
    free[3] += node.functions;
    free[4] += node.scratch_gib;
    if (covered()) return true;
  }
  return covered();
}

bool fits_with_all_up(const Scheduler& scheduler, const State& state, const FitClass& fits, const Gang& gang) {
  FitView view(state.machine(), fits);
  const std::span<const NodeShape> shapes = state.machine().nodes();
  for (std::uint32_t n = 0; n < shapes.size(); ++n) {
    const auto node = static_cast<NodeId>(n);
    if (state.free(node).up || scheduler.kept_aside(node) || !accepts(fits.request, shapes[n])) continue;
    NodeFree up = state.free(node);
    up.up = true;
    view.set(node, static_cast<std::uint16_t>(count_fits(fits.request, up, fits.most)));
  }
  return find_nodes(view, gang, scheduler.policy().placement).has_value();
}

// The most tasks, between the job's minimum and maximum, that quotas allow; 0: less than the minimum.
std::int32_t tasks_within_quota(const Tenants& tenants, TenantId tenant, const Job& job) {
  const auto allowed = [&](std::int32_t tasks) {
    return tenants.admits(tenant, amounts_of(job.task, tasks)).has_value();
  };
  if (allowed(job.tasks)) return job.tasks;
  const std::int32_t step = std::max(1, job.segment);
  std::int32_t low = job.fewest() / step;  // monotonic: if n tasks are not allowed, neither are more
  std::int32_t high = job.tasks / step;
  if (low == high || !allowed(low * step)) return 0;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (allowed(middle * step) ? low : high) = middle;
  }
  return low * step;
}

}  // namespace

std::string_view to_text(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::malformed:
      return "malformed";
    case Reason::impossible:
      return "impossible";
    case Reason::held:
      return "held";
    case Reason::nodes_down:
      return "nodes-down";
    case Reason::quota:
      return "quota";
    case Reason::capacity:
      return "capacity";
    case Reason::fragmented:
      return "fragmented";
    case Reason::topology:
      return "topology";
    case Reason::preference:
      return "preference";
    case Reason::barred:
      return "barred";
    case Reason::reserved:
      return "reserved";
    case Reason::order:
      return "order";
    case Reason::preempting:
      return "preempting";
  }
  return "?";
}

Scheduler::Outlook::Outlook(const Scheduler& scheduler, Moment now, Moment at)
    : scheduler_(&scheduler), at_(at), index_(scheduler.policy().placement.scorer) {
  if (!scheduler.policy().placement.scorer) index_ = FitIndex();
  if (at <= now) return;
  later_ = std::make_shared<State>(scheduler.state());
  for (const auto& [end, id] : scheduler.ends_) {
    if (end > at) break;
    const JobRecord& record = scheduler.record(id);
    later_->remove(id, record.job.task, record.placement.slots);
  }
}

std::uint32_t Scheduler::nodes_lost() const {
  return state_.nodes_down() - static_cast<std::uint32_t>(std::count(spare_.begin(), spare_.end(), 1));
}

const Reservation* Scheduler::reservation_of(JobId id) const {
  const auto found = promises_.find(id);
  return found == promises_.end() ? nullptr : &found->second.reservation;
}

std::uint32_t Scheduler::ends_by(Moment when, std::uint32_t most) const {
  std::uint32_t count = 0;
  for (auto end = ends_.begin(); end != ends_.end() && end->first <= when && count < most; ++end) ++count;
  return count;
}

void Scheduler::set_limits(TenantId tenant, const Amounts& quota, const Amounts& borrow, Moment now) {
  now_ = std::max(now_, now);
  tenants_.set_limits(tenant, quota, borrow);
  evictable_.clear();  // jobs within their quota may have been exempt
  dirty_ = true;
}

// What remains on the nodes reserved for others, for a run in [from, until).
std::vector<NodeLimit> Scheduler::limits_against(JobId id, Moment from, Moment until, Moment now) const {
  std::vector<NodeId> nodes;
  for (const auto& [other, promise] : promises_) {
    if (other == id || promise.begins() >= until) continue;
    for (const Slot& slot : promise.reservation.placement.slots) nodes.push_back(slot.node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::vector<NodeLimit> limits;
  limits.reserve(nodes.size());
  for (const NodeId node : nodes) limits.push_back({node, free_from(node, from, until, now, id)});
  return limits;
}

Reason Scheduler::reason_for(JobId id, const Job& job, Moment now, Outlook& outlook) const {
  if (!problem_of(job).empty()) return Reason::malformed;
  return reason_at(id, job, now, std::max(outlook.at(), now), outlook.state(), outlook.fits(job.task));
}

Reason Scheduler::reason_at(JobId id, const Job& job, Moment now, Moment at, const State& state,
                            const FitClass& fits) const {
  const JobRecord& record = jobs_[index_of(id)];
  Gang gang = gang_of(job);
  gang.tasks = job.fewest();
  const FitView free_now(machine(), fits);
  const bool fits_now = find_nodes(free_now, gang, policy_.placement).has_value();
  if (!fits_now && state.nodes_down() > 0 && fits_with_all_up(*this, state, fits, gang)) {
    return Reason::nodes_down;
  }
  const std::int32_t admitted = tasks_within_quota(tenants_, record.tenant, job);
  if (admitted == 0) return Reason::quota;
  if (!fits_now) {
    if (!enough_in_sum(state, job.task, gang.tasks)) return Reason::capacity;
    return free_now.sum(Level::cluster, 0) < gang.tasks ? Reason::fragmented : Reason::topology;
  }
  const std::vector<NodeId> barred = barred_nodes(job, at);
  if (!barred.empty()) {
    FitView allowed(machine(), fits);
    for (const NodeId node : barred) allowed.set(node, 0);
    if (!find_nodes(allowed, gang, policy_.placement)) return Reason::barred;
  }
  const std::vector<NodeLimit> limits = limits_against(id, at, at + job.limit, now);
  FitView view(machine(), fits, limits);
  for (const NodeId node : barred) view.set(node, 0);
  gang.tasks = job.fewest() < job.tasks ? std::min(admitted, most_tasks(view, gang_of(job))) : admitted;
  if (gang.tasks < job.fewest()) return Reason::reserved;
  const std::optional<Found> found = find_nodes(view, gang, policy_.placement);
  if (!found) return Reason::reserved;
  if (job.preference_wait.count() > 0 && found->level > job.preferred && at < record.queued + job.preference_wait) {
    return Reason::preference;
  }
  return Reason::none;
}

Waiting Scheduler::why(JobId id, Moment now) const {
  const JobRecord& record = jobs_[index_of(id)];
  Waiting waiting{id, Reason::none, kNever};
  if (record.phase != JobPhase::waiting) return waiting;
  const Reservation* promise = reservation_of(id);
  if (promise != nullptr) waiting.expected = promise->start;
  const bool held = record.not_before > now;
  const auto fits_empty = [&] {  // a held job has no group yet
    FitIndex index;
    Gang gang = gang_of(record.job);
    gang.tasks = record.job.fewest();
    const FitView view(machine(), index.of(record.job.task, *empty_state_));
    return find_nodes(view, gang, policy_.placement).has_value();
  };
  if (!(held ? fits_empty() : groups_[record.group].possible)) {
    waiting.reason = Reason::impossible;
  } else if (held) {
    waiting.reason = Reason::held;
  } else if (awaited_.count(id) > 0) {  // victims are stopping: this takes precedence over other reasons
    waiting.reason = Reason::preempting;
  } else {
    waiting.reason = reason_at(id, record.job, now, now, state_, index_.of(record.job.task, state_));
    if (waiting.reason == Reason::none) waiting.reason = Reason::order;
    if (waiting.reason == Reason::preference) waiting.expected = record.queued + record.job.preference_wait;
  }
  return waiting;
}

}  // namespace weft::sched
