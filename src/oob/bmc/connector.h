// The production connector: Redfish or IPMI, depending on the endpoint.
#pragma once

#include <memory>

#include "oob/bmc/bmc.h"

namespace weft::oob {

// redfish/bmc.cc and ipmi/bmc.cc.
[[nodiscard]] Result<std::unique_ptr<Bmc>> dial_redfish(const Endpoint& endpoint, const std::string& user,
                                                        const Secret& password, Clock& clock);
[[nodiscard]] Result<std::unique_ptr<Bmc>> dial_ipmi(const Endpoint& endpoint, const std::string& user,
                                                     const Secret& password, Clock& clock);

[[nodiscard]] std::unique_ptr<BmcConnector> network_connector(Clock& clock);

}  // namespace weft::oob
