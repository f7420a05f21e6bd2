// How BMCs are set up, told once for the fleet; and the changing of it (hardening) as an action with evidence. Two
// changes can lock everybody out, and are refused beforehand: a firewall without our own addresses in it, and IPMI off
// where IPMI is the only way in.
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

// One row for each setting and distinct value.
[[nodiscard]] Document settings_document(const Inventory& inventory, const SettingsFleet& fleet,
                                         const std::vector<Unreached>& unreached);

// The out-of-band addresses of the servers that people come in through (pools of role `jump`), not those of their BMCs.
[[nodiscard]] std::vector<Ipv4> jump_addresses(const model::Cluster& cluster);
// The address from which this machine would talk to `host`; an error when there is no way or it is no IPv4 address.
[[nodiscard]] Result<Ipv4> source_address_toward(const std::string& host);

// Why the change must not be made on these devices. Empty: nothing in the way.
struct LockOut {
  std::vector<std::uint32_t> targets;
  std::string why;
};
// `source`: as source_address_toward, passed in for tests.
[[nodiscard]] std::vector<LockOut> lock_outs(const Inventory& inventory, std::span<const std::uint32_t> targets,
                                             const SettingsChange& change, const std::vector<Ipv4>& jump_hosts,
                                             const std::function<Result<Ipv4>(const std::string&)>& source);

// The words of a change for the journal and for people: "ipmi off, syslog 10.0.0.1".
[[nodiscard]] std::string describe(const SettingsChange& change);
[[nodiscard]] bool is_nothing(const SettingsChange& change);
// What of `change` the settings do not show yet; what the BMC does not tell counts as not shown.
[[nodiscard]] SettingsChange missing_of(const SettingsChange& change, const BmcSettings& settings);

// Only what differs is sent; read back until it shows or ten seconds have passed.
[[nodiscard]] Result<std::vector<DeviceEnding>> change_settings(const Fleet& fleet,
                                                                std::span<const std::uint32_t> targets,
                                                                const SettingsChange& change, const std::string& reason,
                                                                bool dry_run = false);

}  // namespace weft::oob
