// Signals of what BMCs report (oob/bmc/bmc.h): entries of event logs, by Redfish or IPMI; sensors beyond their
// thresholds; telemetry of GPU baseboards. The node's name and the time of a sensor are the caller's to add.
//
// A log entry that says that a condition ended has the name and part of its beginning and the detail `state`:
// `deasserted`. Counters and states from telemetry have names that no event has (`_total`, `_seconds`, `_flag`), so
// that a rule for events is never met by a counter that stands at zero.
#pragma once

#include <optional>
#include <vector>

#include "health/core/signal.h"
#include "oob/bmc/bmc.h"

namespace weft::health {

// nullopt: the entry is not about health (logins, updates), or does not say what it is about.
[[nodiscard]] std::optional<Signal> signal_of(const oob::LogEvent& event);
// Thresholds that are reached, and states that the BMC itself calls critical or warning. Nothing for a sensor without a
// reading. Ask only for machines that are on: fans stand still and voltages are zero in one that is off.
[[nodiscard]] std::vector<Signal> signals_of(const oob::SensorReading& reading);
// nullopt: it is not about health, has no value, or is stale.
[[nodiscard]] std::optional<Signal> signal_of(const oob::Metric& metric);

}  // namespace weft::health
