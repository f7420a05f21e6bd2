#include "oob/bmc/bmc.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

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

std::string_view to_text(EventState state) {
  switch (state) {
    case EventState::asserted:
      return "asserted";
    case EventState::deasserted:
      return "deasserted";
    case EventState::unknown:
      break;
  }
  return "unknown";
}

Health severity_of(const LogEvent& event) {
  return event.state == EventState::deasserted ? Health::ok : event.severity;
}

Result<MetricReports> Bmc::metrics() { return Error{ErrorCode::not_found, "has no telemetry", {}}; }

Result<std::unique_ptr<EventStream>> Bmc::event_stream(const std::string& /*last_id*/) {
  return Error{ErrorCode::not_found, "sends no events", {}};
}

Result<SensorReadings> Bmc::all_sensors() {
  Result<std::vector<SensorReading>> readings = sensors();
  if (!readings.ok()) return readings.error();
  return SensorReadings{std::move(readings).value(), {}};
}

Result<EventLogs> Bmc::event_logs(const std::string& only) {
  constexpr std::string_view kSel = "SEL";
  if (!only.empty() && !equals_ignoring_case(only, kSel))
    return Error{ErrorCode::not_found, "has no log " + in_backticks(only), {}};
  Result<std::vector<LogEvent>> events = this->events();
  if (!events.ok()) return events.error();
  for (LogEvent& event : *events) {
    if (event.log.empty()) event.log = kSel;
  }
  return EventLogs{std::move(events).value(), {}};
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

std::string authority_of(const Endpoint& endpoint) {
  const bool six = endpoint.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(six ? "[{}]:{}" : "{}:{}"), endpoint.host, endpoint.real_port());
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
