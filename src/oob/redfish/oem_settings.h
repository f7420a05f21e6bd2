// Settings in Redfish resources: builds the JSON of a change, and reads vendor-specific properties (redfish/quirks.h)
// as a list. Pure functions; requests are sent by redfish/settings.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "oob/bmc/bmc.h"
#include "oob/redfish/quirks.h"

namespace weft::oob {

// The strings stored in a place; an empty list if it is disabled; no value if the resource has no such members.
[[nodiscard]] std::optional<std::vector<std::string>> read_setting(const SettingPlace& place, const Value& resource);
// The PATCH that sets the place to `wanted`. invalid_input if the place has too few slots.
[[nodiscard]] Result<Value> write_setting(const SettingPlace& place, const Value& resource,
                                          const std::vector<std::string>& wanted);

// The PATCH of a ManagerNetworkProtocol; an empty map if nothing changes.
[[nodiscard]] Value protocol_change(const SettingsChange& change);
// Names of the settings in the change that `settings` does not report: "ssh, syslog".
[[nodiscard]] std::string unknown_settings(const SettingsChange& change, const BmcSettings& settings);
// Names of the settings that differ from the change.
[[nodiscard]] std::string untaken_settings(const SettingsChange& change, const BmcSettings& settings);
// Whether the operating system may access its BMC through one of these HostInterfaces; no value if there are none.
[[nodiscard]] std::optional<bool> any_interface_enabled(const std::vector<Value>& interfaces);

}  // namespace weft::oob
