// Explanations of the scheduler as documents: one job, one placement, the whole cluster.
#pragma once

#include "base/document.h"
#include "sched/explain/cluster_status.h"
#include "sched/explain/explain.h"
#include "sched/explain/placement.h"

namespace weft::sched {

[[nodiscard]] Document explanation_view(const Scheduler& scheduler, const Explanation& explanation);
[[nodiscard]] Document placement_view(const Scheduler& scheduler, const PlacementExplanation& explanation);
[[nodiscard]] Document status_view(const Scheduler& scheduler, const ClusterStatus& status);

}  // namespace weft::sched
