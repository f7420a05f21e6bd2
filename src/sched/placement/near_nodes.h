// Slots for tasks that join a job which already runs: as near as possible to a node of it. For jobs that grow and jobs
// that lose a node. Decides nothing about whether they may.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sched/placement/fit_index.h"
#include "sched/placement/state.h"

namespace weft::sched {

struct NearSearch {
  const State* state = nullptr;
  const FitClass* fits = nullptr;
  const std::vector<char>* spare = nullptr;  // nodes kept aside that may be used all the same; none: nobody's
  std::map<NodeId, NodeFree> changed;        // what is free where that differs from the state

  [[nodiscard]] NodeFree free(NodeId node) const;
  [[nodiscard]] int fit(NodeId node, int limit) const;
  // Slots for `tasks` of them in the nodes [first, end): on one node if that is possible, else on the nearest to
  // `reference`; of equally near ones spares first, then the fullest. They are taken in `changed`. Fewer slots than
  // tasks: there is no more room.
  [[nodiscard]] std::vector<Slot> take_near(std::uint32_t first, std::uint32_t end, NodeId reference,
                                            std::int32_t tasks);
};

}  // namespace weft::sched
