#include "sched/scheduler_walk.h"

namespace weft::sched {

bool Scheduler::make_room(JobId, Moment, Walk&, Decisions&) { return false; }
void Scheduler::grow_elastic(Moment, const Walk&, Decisions&) {}
bool Scheduler::consolidate(JobId, Moment, Walk&, Decisions&) { return false; }
Scheduler::Repair Scheduler::repair(std::span<const NodeId>, Moment) { return {}; }
Waiting Scheduler::why(JobId id, Moment) const { return {id, Reason::none, kNever}; }

}  // namespace weft::sched
