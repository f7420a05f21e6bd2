#include "sched/scheduler_walk.h"

namespace weft::sched {
Scheduler::Repair Scheduler::repair(std::span<const NodeId>, Moment) { return {}; }
}  // namespace weft::sched
