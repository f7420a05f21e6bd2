// What the caring verbs of `weft oob` share: whom they can speak to, and what their exit says.
#pragma once

#include <vector>

#include "cli/oob/input.h"
#include "oob/bmc/consolidate.h"
#include "oob/manage/device_change.h"

namespace weft::cli {

// The chosen devices that have a controller we can speak to; the others are told on standard error.
[[nodiscard]] std::vector<std::uint32_t> spoken_to(Context& context, const OobSetup& setup);
// Findings before devices that could not be asked; those before ok. Nobody at all answered: unavailable.
[[nodiscard]] Exit outcome_of(bool findings, const std::vector<oob::Unreached>& unreached);
// Of an action: refused or partial when some device did not end as it should.
[[nodiscard]] Exit outcome_of(const std::vector<oob::DeviceEnding>& endings);

// Devices that a change of settings, users or logs may hit without --limit: more than a rack, less than a row.
inline constexpr std::uint32_t kCareLimit = 64;

[[nodiscard]] Command oob_inventory_command();
[[nodiscard]] Command oob_sensors_command();
[[nodiscard]] Command oob_events_command();
[[nodiscard]] Command oob_users_command();
[[nodiscard]] Command oob_settings_command();
[[nodiscard]] Command oob_audit_command();

}  // namespace weft::cli
