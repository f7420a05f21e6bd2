// Shared by `weft oob inventory`, sensors, events, watch, users, settings and audit: selection of devices with a BMC,
// exit codes and the default limit of a change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/framework/option_reader.h"
#include "cli/oob/input.h"
#include "oob/bmc/consolidate.h"
#include "oob/manage/device_change.h"

namespace weft::cli {

// The chosen devices that have a Redfish or IPMI controller; the others are listed on standard error.
[[nodiscard]] std::vector<std::uint32_t> select_with_bmc(Context& context, const OobSetup& setup);
// Rows that are not summed up, for every format but the tables.
[[nodiscard]] bool is_for_machines(OutputFormat format);
// Exit code of a read: findings, else partial if some devices were unreachable, unavailable if all were.
[[nodiscard]] Exit outcome_of(bool findings, const std::vector<oob::Unreached>& unreached);
// Exit code of a change: refused or partial if some device was not changed.
[[nodiscard]] Exit outcome_of(const std::vector<oob::DeviceEnding>& endings);

// Shared by `weft oob events` and watch. Nothing without the option, or after a problem was reported to the reader.
[[nodiscard]] Option since_option(std::string help);
[[nodiscard]] Option level_option();
[[nodiscard]] std::optional<std::int64_t> since_when(OptionReader& reader, std::int64_t now_ms);
[[nodiscard]] oob::Health least_severity(const Context& context);

// Devices that a change of settings, users or logs may affect without --limit: more than a rack, less than a row.
inline constexpr std::uint32_t kDeviceLimit = 64;

[[nodiscard]] Command oob_inventory_command();
[[nodiscard]] Command oob_sensors_command();
[[nodiscard]] Command oob_events_command();
[[nodiscard]] Command oob_watch_command();
[[nodiscard]] Command oob_metrics_command();
[[nodiscard]] Command oob_users_command();
[[nodiscard]] Command oob_settings_command();
[[nodiscard]] Command oob_audit_command();
[[nodiscard]] Command oob_firmware_command();

}  // namespace weft::cli
