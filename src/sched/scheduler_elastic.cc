// Elastic jobs: they take up room that nobody waits for, and give it back as soon as somebody does.
#include <algorithm>

#include "base/check.h"
#include "sched/scheduler_walk.h"

namespace weft::sched {

void Scheduler::shrink_job(JobId id, const std::vector<std::uint32_t>& tasks, Moment now) {
  JobRecord& record = jobs_[index_of(id)];
  // All is put back anew: the tasks that stay keep their order but not their numbers.
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

void Scheduler::grow_elastic(Moment, const Walk&, Decisions&) {}

}  // namespace weft::sched
