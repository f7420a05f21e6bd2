// Cyclic buffer dependencies: the only way in which a lossless fabric deadlocks.
#pragma once

#include <vector>

#include "netsim/packet/world.h"

namespace weft::netsim {

// Links of one cycle of stopped queues, each blocked by the next; empty if there is none. `held_by` lists for each lane
// which others hold packets that came through it (PacketShard::who_holds_whom).
[[nodiscard]] std::vector<LinkId> find_deadlock(const PacketWorld& world,
                                                const std::vector<std::vector<std::uint32_t>>& held_by);

}  // namespace weft::netsim
