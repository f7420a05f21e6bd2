// Parts of an attempt, found by their nodes.
#include <algorithm>
#include <numeric>

#include "control/state.h"

namespace weft::control {

bool Attempt::all_sealed() const {
  return std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.sealed; });
}

void Attempt::index_parts() {
  by_node.resize(parts.size());
  std::iota(by_node.begin(), by_node.end(), 0U);
  std::sort(by_node.begin(), by_node.end(),
            [&](std::uint32_t a, std::uint32_t b) { return parts[a].node < parts[b].node; });
}

Part* Attempt::find(sched::NodeId node) {
  if (by_node.size() != parts.size()) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.node == node; });
    return found == parts.end() ? nullptr : &*found;
  }
  const auto at = std::lower_bound(by_node.begin(), by_node.end(), node,
                                   [&](std::uint32_t i, sched::NodeId wanted) { return parts[i].node < wanted; });
  return at == by_node.end() || parts[*at].node != node ? nullptr : &parts[*at];
}

}  // namespace weft::control
