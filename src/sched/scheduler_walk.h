// Inside of the scheduler: what one walk over the queue has promised so far. Not for others.
#pragma once

#include <vector>

#include "sched/scheduler.h"

namespace weft::sched {

struct Scheduler::Walk {
  std::vector<Promise*> active;  // in queue order
  bool blocked = false;          // a job ahead could not start
  std::int32_t promised = 0;
  std::int32_t tested = 0;  // attempts since the first blocked job

  // Limits of the nodes under promise, for the promises that begin before `limits_end`; remade when those change.
  std::vector<NodeLimit> limits;
  std::size_t limits_promises = SIZE_MAX;  // promises they cover
  bool limits_stale = true;

  void activate(Promise& promise) {
    promise.active = true;
    active.push_back(&promise);
    limits_stale = true;
  }
};

}  // namespace weft::sched
