// Explains the placement of a running job: how widely it is spread, how it affects the rest of the machine, and what
// alternative placements would have cost. Evaluated on the machine as it is now without the job, not as it was at its
// start.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sched/core/cluster_fragmentation.h"
#include "sched/core/scheduler.h"

namespace weft::sched {

struct PlacementScore {
  Level level = Level::node;                     // the tightest domain that holds it all
  std::array<std::uint32_t, kLevels> domains{};  // number of domains used per level; nodes at Level::node
  bool rails_aligned = true;                     // every node uses the same GPUs: equal local ranks share a rail
  double fragmentation = 0;                      // of the machine with the job there
};

struct PlacementChoice {
  std::string how;
  PlacementScore score;
  Placement placement;
};

struct PlacementExplanation {
  JobId job{};
  std::string sentence;
  double fragmentation_before = 0;  // of the machine without the job
  PlacementScore chosen;
  Level tightest = Level::node;               // that could hold it now
  std::vector<PlacementChoice> alternatives;  // other placements, best first
};

// For a running job; the sentence is empty for any other.
[[nodiscard]] PlacementExplanation explain_placement(const Scheduler& scheduler, JobId id,
                                                     const std::vector<DemandKind>& demand,
                                                     std::size_t most_alternatives = 3);
[[nodiscard]] PlacementScore score_of(const State& without, const Job& job, const Placement& placement,
                                      const std::vector<DemandKind>& demand);

}  // namespace weft::sched
