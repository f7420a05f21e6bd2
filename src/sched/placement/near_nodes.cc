#include "sched/placement/near_nodes.h"

#include <algorithm>
#include <compare>

#include "base/check.h"

namespace weft::sched {

NodeFree NearSearch::free(NodeId node) const {
  const auto found = changed.find(node);
  if (found != changed.end()) return found->second;
  NodeFree free = state->free(node);
  if (spare != nullptr && (*spare)[index_of(node)] != 0) free.up = true;
  return free;
}

int NearSearch::fit(NodeId node, int limit) const {
  if (std::binary_search(barred.begin(), barred.end(), node)) return 0;
  const bool as_indexed = changed.count(node) == 0 && (spare == nullptr || (*spare)[index_of(node)] == 0);
  if (as_indexed) return std::min<int>(fits->fit[index_of(node)], limit);
  if (!accepts(fits->request, state->machine().node(node))) return 0;
  return count_fits(fits->request, free(node), limit);
}

std::vector<Slot> NearSearch::take_near(std::uint32_t first, std::uint32_t end, NodeId reference, std::int32_t tasks) {
  const Machine& machine = state->machine();
  struct Candidate {
    bool splits = false;  // does not fit all the tasks
    int level = 0;        // of the domain shared with the reference
    bool regular = false;
    std::uint32_t cost = 0;
    std::uint32_t node = 0;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (std::uint32_t n = first; n < end; ++n) {
    const auto node = static_cast<NodeId>(n);
    const int count = fit(node, tasks);
    if (count == 0) continue;
    int level = node == reference ? 0 : static_cast<int>(Level::nvlink);
    while (level > 0 && level < static_cast<int>(Level::cluster) &&
           machine.domain_of(static_cast<Level>(level), node) !=
               machine.domain_of(static_cast<Level>(level), reference)) {
      ++level;
    }
    const bool is_spare = spare != nullptr && (*spare)[n] != 0;
    candidates.push_back({count < tasks, level, !is_spare, is_spare ? 0 : fits->cost[n], n});
  }
  std::sort(candidates.begin(), candidates.end());
  std::vector<Slot> slots;
  for (const Candidate& candidate : candidates) {
    const auto node = static_cast<NodeId>(candidate.node);
    NodeFree here = free(node);
    while (static_cast<std::int32_t>(slots.size()) < tasks) {
      std::optional<Slot> slot = choose_slot(fits->request, machine.node(node), here);
      if (!slot) break;
      slot->node = node;
      take(here, fits->request, *slot);
      slots.push_back(*slot);
    }
    changed[node] = here;
    if (static_cast<std::int32_t>(slots.size()) == tasks) break;
  }
  return slots;
}

}  // namespace weft::sched
