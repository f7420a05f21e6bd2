// Inside of the scheduler: what one walk over the queue has promised so far. Not for others.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sched/core/scheduler.h"

namespace weft::sched {

// Like take(), for states that may not come true: what is not there is not taken.
void subtract(NodeFree& free, const Request& request, const Slot& slot);

struct Scheduler::Walk {
  std::vector<Promise*> active;  // in queue order
  bool blocked = false;          // a job ahead could not start
  std::int32_t promised = 0;
  std::int32_t tested = 0;  // attempts since the first blocked job

  // Limits of the nodes under promise, for the promises that begin before `limits_end`; remade when those change.
  std::vector<NodeLimit> limits;
  std::size_t limits_promises = SIZE_MAX;  // promises they cover
  bool limits_stale = true;

  std::vector<JobId> preempting;  // jobs whose victims make room for them, at the start of the walk
  // Quota that those of them under promise will take, and that all victims give back; remade when those change.
  std::vector<Tenants::GivenBack> owed;
  bool owed_stale = true;
  // What there is to take at all: the lowest rank of a possible victim.
  struct Prey {
    std::optional<Rank> weakest;
    bool elastic = false;   // some job runs with more tasks than it needs
    bool stopping = false;  // some job is on its way out
  };
  std::optional<Prey> prey;
  std::vector<JobId> borrowers;  // blocked jobs that could make room on borrowed quota
  bool ended = false;            // every job has been looked at

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
