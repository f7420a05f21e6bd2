// Upper bound on the GPUs that any placement of a list of tasks can allocate: measures the gap between a policy and the
// optimum. Weak duality: with any worth w >= 0 per task type t, every packing satisfies
//   sum of gpu(t) x(t)  <=  sum over servers of value(server, w)  +  sum over t of max of (gpu(t) - w(t)) x(t)
// over the feasible counts x(t). The search for good worths therefore affects only how tight the bound is, not whether
// it is valid. The value of a server respects GPU boundaries for fractional requests (see packing/node_value.h); memory
// is ignored.
#pragma once

#include <cstdint>
#include <span>

#include "sched/machine/machine.h"
#include "sched/packing/typical_tasks.h"

namespace weft::sched {

struct PackBound {
  // Thousandths of a GPU. `any`: for any selection of tasks, with hindsight.
  double any = 0;
  // For policies that never reject a task that fits, if no task leaves: a type that once fits nowhere never fits again,
  // and neither does any type that needs at least as much of everything. Never above `any`.
  double conserving = 0;
};

// `arrivals`: indices into `types`, in order. The order matters only for `conserving`.
[[nodiscard]] PackBound bound_allocation(const Machine& machine, std::span<const TaskType> types,
                                         std::span<const std::uint32_t> arrivals);

// Whether `b` fits wherever `a` fits.
[[nodiscard]] bool needs_no_less(const Request& a, const Request& b);

}  // namespace weft::sched
