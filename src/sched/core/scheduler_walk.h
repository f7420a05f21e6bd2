// State of one pass over the queue: the reservations made so far. Internal to the scheduler.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sched/core/scheduler.h"

namespace weft::sched {

// Like take(), for hypothetical states: subtracts at most what is free.
void subtract(NodeFree& free, const Request& request, const Slot& slot);

struct Scheduler::Walk {
  std::vector<Promise*> active;  // in queue order
  bool blocked = false;          // a job ahead could not start
  std::int32_t promised = 0;
  std::int32_t tested = 0;  // attempts since the first blocked job

  // Limits of the nodes under reservation, for reservations that begin before `limits_end`; rebuilt when those change.
  std::vector<NodeLimit> limits;
  std::size_t limits_promises = SIZE_MAX;  // number of reservations covered
  bool limits_stale = true;

  std::vector<JobId> preempting;  // jobs with victims stopping for them, at the start of the walk
  // Quota that those with a reservation will use, and that all victims release; rebuilt when those change.
  std::vector<Tenants::GivenBack> owed;
  bool owed_stale = true;
  // What preemption could take: the lowest rank of a possible victim.
  struct Prey {
    std::optional<Rank> weakest;
    bool elastic = false;   // some job runs with more tasks than it needs
    bool stopping = false;  // some job is stopping
  };
  std::optional<Prey> prey;
  std::vector<JobId> borrowers;  // blocked jobs that could preempt on borrowed quota
  bool ended = false;            // every job has been considered

  void activate(Promise& promise) {
    promise.active = true;
    active.push_back(&promise);
    limits_stale = true;
    owed_stale = true;
  }
  void deactivate(Promise& promise) {
    promise.active = false;
    active.erase(std::remove(active.begin(), active.end(), &promise), active.end());
    limits_stale = true;
    owed_stale = true;
  }
};

}  // namespace weft::sched
