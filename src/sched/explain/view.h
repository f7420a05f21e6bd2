// Explanations of the scheduler as documents: one job, one placement, the whole cluster.
#pragma once

#include "base/document.h"
#include "sched/explain/cluster_status.h"
#include "sched/explain/explain.h"
#include "sched/explain/placement.h"

namespace weft::sched {

// What a Moment counts from, which decides how it is shown.
enum class TimeOrigin : std::uint8_t {
  trace,  // the start of a trace: "at 3600 s"
  epoch   // 1970 UTC: "at 14:05:00Z"
};

[[nodiscard]] Document explanation_view(const Scheduler& scheduler, const Explanation& explanation,
                                        TimeOrigin origin = TimeOrigin::trace);
[[nodiscard]] Document placement_view(const Scheduler& scheduler, const PlacementExplanation& explanation);
[[nodiscard]] Document status_view(const Scheduler& scheduler, const ClusterStatus& status,
                                   TimeOrigin origin = TimeOrigin::trace);

}  // namespace weft::sched
