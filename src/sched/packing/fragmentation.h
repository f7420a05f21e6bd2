// How much of a server's idle GPUs the tasks to come cannot use: the fragment measure of FGD (Weng et al., "Beware of
// Fragmentation", USENIX ATC'23). For one task type the fragment is all that is idle where the type cannot run (or asks
// for no GPU), else the idle part of the GPUs that are too full for it; a server's fragment is the mean over the
// types by their shares. A measure of one state; what is done about it is a policy's business.
#pragma once

#include <span>

#include "sched/machine/resources.h"
#include "sched/packing/typical_tasks.h"

namespace weft::sched {

// In thousandths of a GPU. Memory, scratch and functions are looked at where the types have them: FGD's do not.
[[nodiscard]] double fragment_of(std::span<const TaskType> types, const NodeShape& shape, const NodeFree& free);
// For a single type.
[[nodiscard]] Milli fragment_of(const Request& request, const NodeShape& shape, const NodeFree& free);

}  // namespace weft::sched
