// Fragmentation of a server: the idle GPUs that future tasks cannot use, by the measure of FGD (Weng et al., "Beware of
// Fragmentation", USENIX ATC'23). For one task type the fragment is everything idle if the type cannot run there (or
// requests no GPU), else the idle part of the GPUs that are too full for it; a server's fragment is the mean over the
// types weighted by their shares. It measures one state and makes no decisions.
#pragma once

#include <span>

#include "sched/machine/resources.h"
#include "sched/packing/typical_tasks.h"

namespace weft::sched {

// In thousandths of a GPU. Memory, scratch and functions are checked if the types have them: FGD's do not.
[[nodiscard]] double fragment_of(std::span<const TaskType> types, const NodeShape& shape, const NodeFree& free);
// For a single type.
[[nodiscard]] Milli fragment_of(const Request& request, const NodeShape& shape, const NodeFree& free);

}  // namespace weft::sched
