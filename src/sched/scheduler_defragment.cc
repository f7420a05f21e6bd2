#include "sched/scheduler_walk.h"

namespace weft::sched {
bool Scheduler::consolidate(JobId, Moment, Walk&, Decisions&) { return false; }
}  // namespace weft::sched
