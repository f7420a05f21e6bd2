// The steps by which a node is repaired, in the order in which they are tried: the next one only if the one before is
// known not to have helped. Reported with the health of a node; the controller executes none twice in one session.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::control {

// In the order of how much they disturb.
enum class RepairAction : std::uint8_t {
  none,             // nothing was tried yet
  check,            // active checks decide
  restart_service,  // a service of the node
  reset_gpu,
  reboot,
  power_cycle,
  person  // an operator: a part is replaced, or somebody must look
};
inline constexpr std::uint8_t kRepairActions = 7;
[[nodiscard]] std::string_view to_text(RepairAction action);
// As a verb, for people: "reset the GPU".
[[nodiscard]] std::string_view verb_of(RepairAction action);
// Whether the action ends every process of the node. The others need a node on which nothing runs.
[[nodiscard]] constexpr bool ends_processes(RepairAction action) {
  return action == RepairAction::reboot || action == RepairAction::power_cycle;
}

struct RepairPlan {
  std::vector<RepairAction> actions;  // ascending; empty: a power cycle
  std::string part;                   // that is broken: "GPU 0000:3b:00"; "": the node
  friend bool operator==(const RepairPlan&, const RepairPlan&) = default;

  // The first action after the one that was tried last.
  [[nodiscard]] RepairAction next(RepairAction tried) const;
};

}  // namespace weft::control
