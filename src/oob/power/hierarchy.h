// Power dependencies: a node in a chassis, a chassis or a server on PDUs. If an ancestor is off, everything below it is
// off, regardless of what its controllers report. Site feeds cannot be switched; they are budgets (power/plan.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

// One per target of the inventory; unknown if not read.
using PowerStates = std::vector<PowerState>;

// Power sources of the target, nearest first: its chassis, its PDUs, and theirs.
[[nodiscard]] std::vector<std::uint32_t> power_sources(const Inventory& inventory, std::uint32_t target);
// The ancestors that are off, if they leave the target without power: its chassis, or all of its PDUs. Empty if it has
// power as far as known.
[[nodiscard]] std::vector<std::uint32_t> dark_by(const Inventory& inventory, const PowerStates& states,
                                                 std::uint32_t target);
// Devices that lose power when all of `targets` are off, excluding `targets`; ascending.
[[nodiscard]] std::vector<std::uint32_t> dependents(const Inventory& inventory, std::span<const std::uint32_t> targets);

}  // namespace weft::oob
