// Nodes that a job must not use: those with a planned outage before the job would end, and those excluded for it.
#include <algorithm>

#include "base/check.h"
#include "sched/core/scheduler.h"

namespace weft::sched {
namespace {

std::vector<NodeId> sort_unique(std::vector<NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

std::vector<NodeId> Scheduler::barred_nodes(const Job& job, Moment start) const {
  std::vector<NodeId> nodes = job.excluded;
  const Moment end = start + (job.limit == kUnlimited ? policy_.outage_horizon : job.limit);
  for (const auto& [node, from] : outages_) {
    if (from < end) nodes.push_back(node);
  }
  return sort_unique(std::move(nodes));
}

// A reservation or a preemption for later would have to end before the outage; that is rare, so such nodes are left
// out.
std::vector<NodeId> Scheduler::unplannable_nodes(const Job& job) const {
  std::vector<NodeId> nodes = job.excluded;
  for (const auto& [node, from] : outages_) nodes.push_back(node);
  return sort_unique(std::move(nodes));
}

void Scheduler::plan_outages(const std::vector<PlannedOutage>& outages, Moment now) {
  ++events_;
  now_ = std::max(now_, now);
  outages_.clear();
  for (const PlannedOutage& outage : outages) {
    const auto [found, added] = outages_.emplace(outage.node, outage.from);
    if (!added) found->second = std::min(found->second, outage.from);
  }
  std::vector<JobId> broken;
  for (const auto& [id, promise] : promises_) {
    const bool here =
        std::any_of(promise.reservation.placement.slots.begin(), promise.reservation.placement.slots.end(),
                    [&](const Slot& slot) { return outages_.contains(slot.node); });
    if (here) broken.push_back(id);
  }
  for (const JobId id : broken) drop_promise(id);
  for (Group& group : groups_) group.failed_at = UINT64_MAX;  // an outage that is gone frees its node
  dirty_ = true;
}

void Scheduler::exclude(JobId id, std::vector<NodeId> nodes, Moment now) {
  ++events_;
  now_ = std::max(now_, now);
  JobRecord& record = jobs_[index_of(id)];
  nodes = sort_unique(std::move(nodes));
  if (record.job.excluded == nodes) return;
  const bool waits = record.phase == JobPhase::waiting;
  if (waits) {
    dequeue(id);
    drop_promise(id);
  }
  record.job.excluded = std::move(nodes);
  if (waits) enqueue(id);
}

bool Scheduler::fits_elsewhere(JobId id, const std::vector<NodeId>& without, Moment now) const {
  Job job = jobs_[index_of(id)].job;
  job.excluded.insert(job.excluded.end(), without.begin(), without.end());
  const std::vector<NodeLimit> limits = limits_against(id, now, now + job.limit, now);
  FitView view(machine(), index_.of(job.task, state_), limits);
  for (const NodeId node : barred_nodes(job, now)) view.set(node, 0);
  Gang gang = gang_of(job);
  gang.tasks = job.fewest();
  return find_nodes(view, gang, policy_.placement).has_value();
}

}  // namespace weft::sched
