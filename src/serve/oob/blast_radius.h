// Blast radius of a change: the devices named, those that lose power with them, and the servers behind switches whose
// config changes. Computed from cluster and inventory by the code that carries the change out; nothing is asked of a
// device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/cluster.h"
#include "serve/oob/command_line.h"

namespace weft::serve {

struct BlastRadius {
  std::vector<std::uint32_t> targets;
  std::vector<std::uint32_t> dependents;  // lose power with the targets
  std::vector<std::uint32_t> behind;      // servers cabled to the switches
  bool interrupts = false;                // jobs on these devices may end
  std::string refusal;                    // the change would be refused: too many devices
};

// Error (refused, invalid_input): the change cannot be planned.
[[nodiscard]] Result<BlastRadius> find_blast_radius(const OobCall& call, const model::Cluster& cluster,
                                                    const oob::Inventory& inventory);

// What runs on devices: jobs and tenants. Called on the thread of the event loop.
using OobJobsOn = std::function<Value(const std::vector<std::string>& devices)>;
// The member "blast_radius" of a plan; `jobs_on` may be null.
[[nodiscard]] Value blast_radius_value(const BlastRadius& radius, const oob::Inventory& inventory,
                                       const OobJobsOn& jobs_on);
[[nodiscard]] std::vector<std::string> affected_devices(const BlastRadius& radius, const oob::Inventory& inventory);

}  // namespace weft::serve
