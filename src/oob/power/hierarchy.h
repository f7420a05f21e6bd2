// Who hangs on whose power: a node in a chassis, a chassis or a server on PDUs. An off ancestor means off for all below
// it, whatever their controllers say, or do not say. Feeds of the site have no switch of ours; they are budgets
// (power/plan.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

// One for each target of the inventory; unknown where nobody looked.
using PowerStates = std::vector<PowerState>;

// What the target's power comes through, nearest first: its chassis, its PDUs, and theirs.
[[nodiscard]] std::vector<std::uint32_t> power_sources(const Inventory& inventory, std::uint32_t target);
// The ancestors that are off, if they leave the target without power: its chassis, or all of its PDUs. Empty when it
// has power as far as is known.
[[nodiscard]] std::vector<std::uint32_t> dark_by(const Inventory& inventory, const PowerStates& states,
                                                 std::uint32_t target);
// Those that go dark when all of `targets` are off, these not counted; ascending.
[[nodiscard]] std::vector<std::uint32_t> dependents(const Inventory& inventory, std::span<const std::uint32_t> targets);

}  // namespace weft::oob
