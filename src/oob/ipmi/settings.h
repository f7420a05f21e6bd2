// BMC settings available through IPMI: the cipher suites, and whether this channel accepts IPMI at all. All others
// (syslog, web server, clocks) are vendor-specific or set through Redfish.
#pragma once

#include "oob/bmc/bmc.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

[[nodiscard]] Result<BmcSettings> read_ipmi_settings(IpmiSession& session);
// ipmi_over_lan = false ends this session and prevents later ones; it can be re-enabled only through Redfish, the BMC's
// web page or the machine's own operating system. `endpoint`: used to verify afterwards that it is off.
[[nodiscard]] Status change_ipmi_settings(IpmiSession& session, const SettingsChange& change, const Endpoint& endpoint);

// Ids from the records of Get Channel Cipher Suites (IPMI 2.0, table 22-20), ascending.
[[nodiscard]] std::vector<int> parse_cipher_records(const IpmiBytes& records);

}  // namespace weft::oob
