// Elastic jobs: they grow into resources that no job waits for, and release them as soon as one does.
#include <algorithm>

#include "base/check.h"
#include "sched/core/scheduler_walk.h"
#include "sched/placement/near_nodes.h"

namespace weft::sched {

void Scheduler::shrink_job(JobId id, const std::vector<std::uint32_t>& tasks, Moment now) {
  JobRecord& record = jobs_[index_of(id)];
  // Everything is placed again: the remaining tasks keep their order but not their indices.
  give_slots(id, record.placement.slots);
  std::vector<Slot> left;
  std::size_t next = 0;
  for (std::uint32_t task = 0; task < record.placement.slots.size(); ++task) {
    if (next < tasks.size() && tasks[next] == task) {
      ++next;
    } else {
      left.push_back(record.placement.slots[task]);
    }
  }
  CHECK(next == tasks.size(), "the tasks that go are in order and were there");
  record.placement.slots = std::move(left);
  take_slots(id, record.placement.slots, 0);
  const auto gone = static_cast<std::int64_t>(tasks.size());
  tenants_.uncharge(record.tenant, amounts_of(record.job.task, gone), record.charge, now);
  dirty_ = true;
}

// Additional tasks that quotas allow a running job, at the same charge; a multiple of its segment size.
std::int32_t Scheduler::admitted_growth(const JobRecord& record) const {
  const std::int32_t step = std::max(1, record.job.segment);
  const auto allowed = [&](std::int32_t steps) {
    const std::optional<Charge> charge =
        tenants_.admits(record.tenant, amounts_of(record.job.task, std::int64_t{steps} * step));
    return charge && *charge >= record.charge;
  };
  std::int32_t low = 0;  // monotonic: if n tasks are not allowed, neither are more
  std::int32_t high = (record.job.tasks - record.running_tasks()) / step + 1;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (allowed(middle) ? low : high) = middle;
  }
  return low * step;
}

// Only while no job waits for resources and there are no reservations: a job releases what it gains here when a job
// arrives that could start with it.
void Scheduler::grow_elastic(Moment now, const Walk& walk, Decisions& decisions) {
  if (walk.blocked || !walk.active.empty() || !awaited_.empty() || elastic_running_.empty()) return;
  std::vector<JobId> jobs;
  for (const JobId id : elastic_running_) {
    const JobRecord& record = jobs_[index_of(id)];
    if (record.phase == JobPhase::running && record.running_tasks() < record.job.tasks) jobs.push_back(id);
  }
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
    const Rank left = jobs_[index_of(a)].rank();
    const Rank right = jobs_[index_of(b)].rank();
    return left != right ? left > right : a < b;
  });
  for (const JobId id : jobs) {
    JobRecord& record = jobs_[index_of(id)];
    const std::int32_t most = admitted_growth(record);
    if (most == 0) continue;
    Resize resize{id, true, room_beside(record, most), id};
    if (resize.slots.empty()) continue;
    const auto first = static_cast<std::uint32_t>(record.placement.slots.size());
    record.placement.slots.insert(record.placement.slots.end(), resize.slots.begin(), resize.slots.end());
    take_slots(id, resize.slots, first);
    const auto grown = static_cast<std::int64_t>(resize.slots.size());
    tenants_.charge(record.tenant, amounts_of(record.job.task, grown), record.charge, now);
    decisions.resizes.push_back(std::move(resize));
  }
}

// Slots for at most `most` more tasks of a running job: in its required domain, whole segments.
std::vector<Slot> Scheduler::room_beside(const JobRecord& record, std::int32_t most) {
  const Job& job = record.job;
  NearSearch search;
  search.state = &state_;
  search.fits = &index_.of(job.task, state_);
  search.barred = unplannable_nodes(job);
  const NodeId reference = record.placement.slots.back().node;
  if (job.required == Level::node) {
    return search.take_near(index_of(reference), index_of(reference) + 1, reference, most);
  }
  const Domain& domain = machine().domains(job.required)[machine().domain_of(job.required, reference)];
  if (job.segment == 0) return search.take_near(domain.first_node, domain.end_node, reference, most);
  std::vector<Slot> slots;
  const Level level = std::max(job.segment_level, Level::nvlink);
  const std::span<const Domain> pieces = machine().domains(level);
  std::uint32_t piece = machine().domain_of(level, static_cast<NodeId>(domain.first_node));
  while (most > 0 && piece < pieces.size() && pieces[piece].first_node < domain.end_node) {
    std::uint32_t first = pieces[piece].first_node;
    std::uint32_t end = pieces[piece].end_node;
    if (job.segment_level == Level::node) {  // one node at a time
      for (end = first; end < pieces[piece].end_node; ++end) {
        if (search.fit(static_cast<NodeId>(end), job.segment) >= job.segment) break;
      }
      first = end < pieces[piece].end_node ? end++ : end;
    }
    const std::map<NodeId, NodeFree> before = search.changed;
    const std::vector<Slot> segment = search.take_near(first, end, reference, job.segment);
    if (static_cast<std::int32_t>(segment.size()) < job.segment) {
      search.changed = before;
      ++piece;
      continue;
    }
    slots.insert(slots.end(), segment.begin(), segment.end());
    most -= job.segment;
  }
  return slots;
}

}  // namespace weft::sched
