#include "control/repair_plan.h"

#include <algorithm>
#include <array>

namespace weft::control {

std::string_view to_text(RepairAction action) {
  static constexpr std::array<std::string_view, kRepairActions> names = {
      "none", "check", "restart_service", "reset_gpu", "reboot", "power_cycle", "person"};
  return names[static_cast<std::size_t>(action)];
}

std::string_view verb_of(RepairAction action) {
  static constexpr std::array<std::string_view, kRepairActions> verbs = {
      "nothing", "run the checks", "restart the service", "reset the GPU", "reboot", "power cycle", "an operator"};
  return verbs[static_cast<std::size_t>(action)];
}

RepairAction RepairPlan::next(RepairAction tried) const {
  if (actions.empty()) return tried < RepairAction::power_cycle ? RepairAction::power_cycle : RepairAction::person;
  const auto found = std::find_if(actions.begin(), actions.end(), [&](RepairAction each) { return each > tried; });
  return found == actions.end() ? RepairAction::person : *found;
}

}  // namespace weft::control
