// Who a BMC and its machine are: Get Device ID, Get System GUID, and the product's inventory area (FRU 0).
#pragma once

#include "oob/bmc/bmc.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

[[nodiscard]] Result<BmcIdentity> read_ipmi_identity(IpmiSession& session);
// Fills manufacturer, model and serial from an inventory as it came; what makes no sense leaves them alone.
void parse_ipmi_inventory(const IpmiBytes& inventory, BmcIdentity& identity);

}  // namespace weft::oob
