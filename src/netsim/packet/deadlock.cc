#include "netsim/packet/deadlock.h"

#include <algorithm>

namespace weft::netsim {

std::vector<LinkId> find_deadlock(const PacketWorld& world, const std::vector<std::vector<std::uint32_t>>& held_by) {
  // Depth-first search over lanes; reaching a lane on the current path again closes a cycle.
  enum class Mark : std::uint8_t { fresh, open, done };
  std::vector<Mark> marks(held_by.size(), Mark::fresh);
  std::vector<std::uint32_t> path;
  std::vector<std::size_t> next;
  for (std::uint32_t root = 0; root < held_by.size(); ++root) {
    if (marks[root] != Mark::fresh || held_by[root].empty()) continue;
    path.assign(1, root);
    next.assign(1, 0);
    marks[root] = Mark::open;
    while (!path.empty()) {
      const std::uint32_t lane = path.back();
      if (next.back() == held_by[lane].size()) {
        marks[lane] = Mark::done;
        path.pop_back();
        next.pop_back();
        continue;
      }
      const std::uint32_t to = held_by[lane][next.back()++];
      if (marks[to] == Mark::open) {
        const auto first = std::find(path.begin(), path.end(), to);
        std::vector<LinkId> cycle;
        for (auto it = first; it != path.end(); ++it) {
          cycle.push_back(static_cast<LinkId>(world.link_of_port[*it / world.queues]));
        }
        return cycle;
      }
      if (marks[to] == Mark::fresh) {
        marks[to] = Mark::open;
        path.push_back(to);
        next.push_back(0);
      }
    }
  }
  return {};
}

}  // namespace weft::netsim
