// Finds operations that wait for each other in a cycle, and formats them for the errors of OpGraph::finish() and
// execute(), which have different reasons to wait.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workload/graph/op_graph.h"

namespace weft::workload {

inline constexpr OpId kNoOp{UINT32_MAX};

// Follows `waits_for` (by OpId) from `from` until an operation repeats, and returns the cycle, starting at its lowest
// OpId. Every operation on the way must wait for another one.
[[nodiscard]] std::vector<OpId> find_cycle(std::span<const OpId> waits_for, OpId from);
// "`a` (...) waits for `b` (...), which waits for `a`": the first few operations named, the others counted.
[[nodiscard]] std::string cycle_text(const OpGraph& graph, std::span<const OpId> cycle);

}  // namespace weft::workload
