// The versions of a machine's components before and after an update, and what their difference proves. Components are
// compared by name: the ids of some BMCs contain the version.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/value.h"
#include "oob/bmc/firmware.h"

namespace weft::oob {

// By component: several parts may have one name.
using ComponentVersions = std::map<std::string, std::set<std::string>>;

// Of the running components that the pattern names; empty pattern: all.
[[nodiscard]] ComponentVersions versions_of(const FirmwareInventory& inventory, const std::string& pattern);
// The paths of these components, for the Targets of a request.
[[nodiscard]] std::vector<std::string> paths_of(const FirmwareInventory& inventory, const std::string& pattern);
// One of these components is not in good health.
[[nodiscard]] bool is_unhealthy(const FirmwareInventory& inventory, const std::string& pattern);

// "BMC 2.14.0 to 2.15.0"; empty if no component has another version. A version that vanished is no new version.
[[nodiscard]] std::string changes_between(const ComponentVersions& before, const ComponentVersions& now);
// Whether the expected version is there: in all components if a pattern names them, else in one that changed.
[[nodiscard]] bool has_expected(const ComponentVersions& before, const ComponentVersions& now,
                                const std::string& expected, bool named);
[[nodiscard]] bool is_version(const std::string& version, const std::string& expected);
// "BMC 2.14.0, BIOS 1.8.2", at most a few.
[[nodiscard]] std::string describe_versions(const ComponentVersions& versions);

// For the journal.
[[nodiscard]] Value versions_value(const ComponentVersions& versions);
[[nodiscard]] ComponentVersions versions_in(const Value& value);

}  // namespace weft::oob
