// Which ports a server model has for a fabric. The order of port groups in the catalog gives the order of cages.
#pragma once

#include <cstdint>

#include "model/catalog.h"

namespace weft::model {

// The row of ports meant for a fabric; null when the server has none.
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

// Cages before this group: its first cage's number.
[[nodiscard]] inline std::uint32_t first_cage(const ServerModel& server, const PortGroup* group) {
  std::int64_t cages = 0;
  for (const PortGroup& other : server.ports.value) {
    if (&other == group) break;
    cages += other.count.value / other.per_cage.value;
  }
  return static_cast<std::uint32_t>(cages);
}

}  // namespace weft::model
