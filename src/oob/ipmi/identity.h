// Identity of a BMC and its machine: Get Device ID, Get System GUID, and the product's inventory area (FRU 0).
#pragma once

#include "oob/bmc/bmc.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

[[nodiscard]] Result<BmcIdentity> read_ipmi_identity(IpmiSession& session);
// Fills manufacturer, model and serial from raw FRU data; invalid data leaves them unchanged.
void parse_ipmi_inventory(const IpmiBytes& inventory, BmcIdentity& identity);

}  // namespace weft::oob
