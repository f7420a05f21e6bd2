// The ports of a server model for a fabric. Cages are numbered in the catalog's order of port groups.
#pragma once

#include <cstdint>

#include "model/catalog.h"

namespace weft::model {

// The group of ports for a fabric; null if the server has none.
[[nodiscard]] inline const PortGroup* port_group(const ServerModel& server, PortUse use) {
  for (const PortGroup& group : server.ports.value) {
    if (group.use.value == use) return &group;
  }
  return nullptr;
}

[[nodiscard]] inline std::int64_t port_count(const ServerModel& server, PortUse use) {
  const PortGroup* group = port_group(server, use);
  return group == nullptr ? 0 : group->count.value;
}

// The number of cages before this group, which is the number of its first cage.
[[nodiscard]] inline std::uint32_t first_cage(const ServerModel& server, const PortGroup* group) {
  std::int64_t cages = 0;
  for (const PortGroup& other : server.ports.value) {
    if (&other == group) break;
    cages += other.count.value / other.per_cage.value;
  }
  return static_cast<std::uint32_t>(cages);
}

}  // namespace weft::model
