// BMC settings of a fleet, folded by value, and changes to them (hardening) with verification. Two changes can lock
// everyone out and are refused: a firewall without our own addresses, and disabling IPMI where it is the only access.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/ip.h"
#include "oob/manage/device_change.h"

namespace weft::oob {

class SettingsFleet {
 public:
  void add(std::uint32_t target, BmcSettings settings);  // from any thread
  [[nodiscard]] std::map<std::uint32_t, BmcSettings> settings() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, BmcSettings> settings_;
};

// One row per setting and distinct value.
[[nodiscard]] Document settings_document(const Inventory& inventory, const SettingsFleet& fleet,
                                         const std::vector<Unreached>& unreached);

// Out-of-band addresses of the jump hosts (pools of role `jump`), without those of their BMCs.
[[nodiscard]] std::vector<Ipv4> jump_addresses(const model::Cluster& cluster);
// The source address of this machine toward `host`; an error if there is no route or it is not an IPv4 address.
[[nodiscard]] Result<Ipv4> source_address_toward(const std::string& host);

// Why the change must not be made on these devices. Empty: no objections.
struct LockOut {
  std::vector<std::uint32_t> targets;
  std::string why;
};
// `source`: source_address_toward; a parameter for tests.
[[nodiscard]] std::vector<LockOut> lock_outs(const Inventory& inventory, std::span<const std::uint32_t> targets,
                                             const SettingsChange& change, const std::vector<Ipv4>& jump_hosts,
                                             const std::function<Result<Ipv4>(const std::string&)>& source);

// Text of a change for the journal and for people: "ipmi off, syslog 10.0.0.1".
[[nodiscard]] std::string describe(const SettingsChange& change);
[[nodiscard]] bool is_nothing(const SettingsChange& change);
// The part of `change` that the settings do not show yet; settings that the BMC does not report count as not shown.
[[nodiscard]] SettingsChange missing_of(const SettingsChange& change, const BmcSettings& settings);

// Sends only differences; reads back until they show or ten seconds have passed.
[[nodiscard]] Result<std::vector<DeviceEnding>> change_settings(const Fleet& fleet,
                                                                std::span<const std::uint32_t> targets,
                                                                const SettingsChange& change, const std::string& reason,
                                                                bool dry_run = false);

}  // namespace weft::oob
