// Replaces oob/ipmi in a build without FreeIPMI (WEFT_IPMI=OFF).
#include "oob/bmc/connector.h"

#ifndef WEFT_HAS_IPMI

namespace weft::oob {

Result<std::unique_ptr<Bmc>> dial_ipmi(const Endpoint& endpoint, const std::string& /*user*/,
                                       const Secret& /*password*/, Clock& /*clock*/) {
  return Error{ErrorCode::not_found, "this weft was built without IPMI (WEFT_IPMI=OFF)", endpoint.device};
}

}  // namespace weft::oob

#endif
