// What IPMI tells and lets change of a BMC's own set-up: the cipher suites, and whether this channel takes IPMI at all.
// Everything else (syslog, web server, clocks) is the vendor's or Redfish's.
#pragma once

#include "oob/bmc/bmc.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

[[nodiscard]] Result<BmcSettings> read_ipmi_settings(IpmiSession& session);
// ipmi_over_lan = false ends this session and every later one: the way back leads through Redfish, the BMC's web page
// or the machine's own operating system. `endpoint`: to see afterwards whether it really is off.
[[nodiscard]] Status change_ipmi_settings(IpmiSession& session, const SettingsChange& change, const Endpoint& endpoint);

// Ids in the records of Get Channel Cipher Suites (IPMI 2.0, table 22-20), ascending.
[[nodiscard]] std::vector<int> parse_cipher_records(const IpmiBytes& records);

}  // namespace weft::oob
