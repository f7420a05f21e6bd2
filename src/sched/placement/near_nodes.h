// Slots for tasks that join a running job, as close as possible to one of its nodes. For jobs that grow and jobs that
// lose a node. The caller decides whether they may.
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
  const std::vector<char>* spare = nullptr;  // reserved nodes that may be used anyway; null: none
  std::vector<NodeId> barred;                // nodes not to use, in ascending order
  std::map<NodeId, NodeFree> changed;        // free resources where they differ from the state

  [[nodiscard]] NodeFree free(NodeId node) const;
  [[nodiscard]] int fit(NodeId node, int limit) const;
  // Slots for `tasks` of them in the nodes [first, end): on one node if possible, else on the nearest to `reference`;
  // among equally near ones spares first, then the fullest. They are allocated in `changed`. Fewer slots than tasks: no
  // more resources are available.
  [[nodiscard]] std::vector<Slot> take_near(std::uint32_t first, std::uint32_t end, NodeId reference,
                                            std::int32_t tasks);
};

}  // namespace weft::sched
