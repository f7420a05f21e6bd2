// Settings as they lie in Redfish resources: what a change asks for as JSON, and what a vendor's own place
// (redfish/quirks.h) holds as a list. Pure functions; sending is redfish/settings.cc's business.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "oob/bmc/bmc.h"
#include "oob/redfish/quirks.h"

namespace weft::oob {

// The texts that a place holds; empty when it is switched off; none when the resource has no such members.
[[nodiscard]] std::optional<std::vector<std::string>> read_setting(const SettingPlace& place, const Value& resource);
// The PATCH that makes the place hold `wanted`. Refused (invalid_input) when the place has no room for it.
[[nodiscard]] Result<Value> write_setting(const SettingPlace& place, const Value& resource,
                                          const std::vector<std::string>& wanted);

// The PATCH of a ManagerNetworkProtocol; an empty map when it need not change.
[[nodiscard]] Value protocol_change(const SettingsChange& change);
// Names of what is to be changed and is not told of in `settings`: "ssh, syslog".
[[nodiscard]] std::string unknown_settings(const SettingsChange& change, const BmcSettings& settings);
// Names of what is not as the change wants it.
[[nodiscard]] std::string untaken_settings(const SettingsChange& change, const BmcSettings& settings);
// Whether the operating system may talk to its BMC by one of these HostInterfaces; none when there are none.
[[nodiscard]] std::optional<bool> any_interface_enabled(const std::vector<Value>& interfaces);

}  // namespace weft::oob
