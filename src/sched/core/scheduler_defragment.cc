// Defragmentation: migrates jobs to free contiguous resources if the waiting time saved outweighs the migration cost.
#include <algorithm>

#include "base/check.h"
#include "sched/core/preemption_planner.h"

namespace weft::sched {
namespace {

constexpr int kMaxTries = 8;  // sets of jobs to migrate that are tried before the job waits

}  // namespace

// New placements for the migrating jobs, with the job they migrate for in its final place. None: one of them fits
// nowhere else; it is returned in `stuck`.
std::optional<std::vector<Placement>> Scheduler::places_elsewhere(const std::vector<JobId>& movers, JobId by,
                                                                  const Placement& taken, Walk& walk, JobId& stuck) {
  std::map<NodeId, NodeFree> changed;
  const auto free = [&](NodeId node) -> NodeFree& {
    return changed.try_emplace(node, state_.free(node)).first->second;
  };
  for (const JobId id : movers) {
    const JobRecord& record = jobs_[index_of(id)];
    for (const Slot& slot : record.placement.slots) give_back(free(slot.node), record.job.task, slot);
  }
  for (const Slot& slot : taken.slots) take(free(slot.node), jobs_[index_of(by)].job.task, slot);
  for (const Promise* promise :
       walk.active) {  // nothing migrates into reserved resources, whenever the reservation begins
    const Request& task = jobs_[index_of(promise->reservation.job)].job.task;
    for (const Slot& slot : promise->reservation.placement.slots) subtract(free(slot.node), task, slot);
  }
  std::vector<Placement> places;
  for (const JobId id : movers) {
    const JobRecord& record = jobs_[index_of(id)];
    const FitClass& fits = index_.of(record.job.task, state_);
    FitView view(machine(), fits);
    std::vector<NodeLimit> limits;
    for (const auto& [node, left] : changed) {
      const bool accepted = accepts(record.job.task, machine().node(node));
      view.set(node, static_cast<std::uint16_t>(accepted ? count_fits(record.job.task, left, fits.most) : 0));
      limits.push_back({node, left});
    }
    for (const NodeId node : unplannable_nodes(record.job)) view.set(node, 0);
    Gang gang = gang_of(record.job);
    gang.tasks = record.running_tasks();
    const std::optional<Found> found = find_nodes(view, gang, policy_.placement);
    if (!found) {
      stuck = id;
      return std::nullopt;
    }
    places.push_back(choose_slots(state_, record.job.task, *found, limits));
    for (const Slot& slot : places.back().slots) take(free(slot.node), record.job.task, slot);
  }
  return places;
}

bool Scheduler::consolidate(JobId id, Moment now, Walk& walk, Decisions& decisions) {
  const JobRecord& record = jobs_[index_of(id)];
  const Job& job = record.job;
  const std::int64_t needed = std::int64_t{job.task.gpu_total()} * job.fewest();
  if (needed == 0 || state_.free_gpu_milli() < needed) return false;  // fragmentation is not the cause
  if (!walk.preempting.empty()) mind_preemptions(id, kLowestRank, walk);
  if (!admits(record, job.fewest(), walk)) return false;
  const std::optional<Promise> planned = earliest(id, now);
  if (!planned) return false;
  const double saved =
      static_cast<double>(needed) / kWholeGpu * seconds_of(planned->reservation.start - now);  // GPU-seconds
  PreemptionPlanner maker(*this, id, now, walk, decisions);
  std::set<JobId> fixed;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const std::optional<PreemptionPlanner::Plan> plan = maker.plan_moves(fixed);
    if (!plan || plan->evicted.empty()) return false;
    if (policy_.defragment_gain * static_cast<double>(plan->answer.loss.lost) / 1000 > saved) return false;
    JobId stuck{};
    std::vector<JobId> movers = plan->evicted;
    std::stable_sort(movers.begin(), movers.end(), [&](JobId a, JobId b) {  // largest first
      return jobs_[index_of(a)].running_tasks() * jobs_[index_of(a)].job.task.gpu_total() >
             jobs_[index_of(b)].running_tasks() * jobs_[index_of(b)].job.task.gpu_total();
    });
    const std::optional<std::vector<Placement>> places = places_elsewhere(movers, id, plan->placement, walk, stuck);
    if (!places) {
      fixed.insert(stuck);
      continue;
    }
    maker.carry_out_moves(*plan, movers, *places);
    return true;
  }
  return false;
}

void Scheduler::PreemptionPlanner::carry_out_moves(const Plan& plan, const std::vector<JobId>& movers,
                                                   const std::vector<Placement>& places) {
  for (std::size_t i = 0; i < movers.size(); ++i) {
    JobRecord& other = s_.jobs_[index_of(movers[i])];
    Move move;
    move.job = movers[i];
    move.by = id_;
    move.cost_gpu_seconds = s_.lost_gpu_seconds(other, now_);
    for (std::uint32_t task = 0; task < places[i].slots.size(); ++task) move.tasks.push_back(task);
    move.to = places[i].slots;
    decisions_.moves.push_back(std::move(move));
    s_.give_slots(movers[i], other.placement.slots);
    other.placement.slots.clear();
  }
  for (std::size_t i = 0; i < movers.size(); ++i) {
    JobRecord& other = s_.jobs_[index_of(movers[i])];
    other.placement = places[i];
    s_.take_slots(movers[i], other.placement.slots, 0);
  }
  walk_.limits_stale = true;
  walk_.owed_stale = true;
  const bool started = start_now(plan);
  CHECK(started, "a job that quotas admit starts in the room that was made for it");
}

}  // namespace weft::sched
