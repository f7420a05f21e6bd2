#include "oob/bmc/bmc.h"

#include <array>
#include <utility>

namespace weft::oob {
namespace {

// DSP2046, Resource.ResetType.
constexpr std::array<std::pair<std::string_view, ResetAction>, kResetActions> kResetNames{{
    {"On", ResetAction::on},
    {"ForceOff", ResetAction::force_off},
    {"GracefulShutdown", ResetAction::graceful_shutdown},
    {"PowerCycle", ResetAction::power_cycle},
    {"ForceRestart", ResetAction::force_restart},
}};

}  // namespace

std::string_view to_text(PowerState state) {
  switch (state) {
    case PowerState::off:
      return "off";
    case PowerState::on:
      return "on";
    case PowerState::powering_on:
      return "powering on";
    case PowerState::powering_off:
      return "powering off";
    case PowerState::unknown:
      break;
  }
  return "unknown";
}

std::string_view to_text(ResetAction action) {
  for (const auto& [name, known] : kResetNames) {
    if (known == action) return name;
  }
  CHECK(false, "an action without a name");
  return {};
}

std::optional<ResetAction> reset_action_named(std::string_view redfish) {
  for (const auto& [name, action] : kResetNames) {
    if (name == redfish) return action;
  }
  return std::nullopt;
}

std::string_view to_text(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::warning:
      return "warning";
    case Health::critical:
      return "critical";
    case Health::unknown:
      break;
  }
  return "unknown";
}

std::string_view to_text(UserRole role) {
  switch (role) {
    case UserRole::read_only:
      return "read-only";
    case UserRole::operating:
      return "operator";
    case UserRole::administrator:
      return "administrator";
    case UserRole::none:
      break;
  }
  return "none";
}

std::string_view to_text(Protocol protocol) {
  switch (protocol) {
    case Protocol::redfish:
      return "redfish";
    case Protocol::ipmi:
      return "ipmi";
    case Protocol::none:
      break;
  }
  return "none";
}

}  // namespace weft::oob
