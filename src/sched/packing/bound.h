// An upper bound on the GPUs that any placement of a list of tasks can give out: how far a policy is from the best
// there could be. Weak duality: with any worth w >= 0 for each type t of task, every packing has
//   sum of gpu(t) x(t)  <=  sum over servers of value(server, w)  +  sum over t of max of (gpu(t) - w(t)) x(t)
// over the counts x(t) that are possible, so that the search for good worths decides how tight the bound is, never
// whether it holds. The value of a server keeps parts of one GPU whole (see packing/node_value.h); memory is left out.
#pragma once

#include <cstdint>
#include <span>

#include "sched/machine/machine.h"
#include "sched/packing/typical_tasks.h"

namespace weft::sched {

struct PackBound {
  // Thousandths of a GPU. `any`: of any choice of tasks, in hindsight.
  double any = 0;
  // Of policies that never turn away a task that fits, when nothing leaves: a type that once fits nowhere never fits
  // again, and neither does any type that needs more of everything. Never above `any`.
  double conserving = 0;
};

// `arrivals`: indices into `types`, in order. The order matters for `conserving` alone.
[[nodiscard]] PackBound bound_allocation(const Machine& machine, std::span<const TaskType> types,
                                         std::span<const std::uint32_t> arrivals);

// Whether wherever task `a` fits, `b` fits too.
[[nodiscard]] bool needs_no_less(const Request& a, const Request& b);

}  // namespace weft::sched
