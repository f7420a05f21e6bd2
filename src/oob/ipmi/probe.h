// Checks whether a BMC is present, with one request that every BMC answers without a session (Get Channel
// Authentication Capabilities, IPMI 2.0 section 22.13). Uses its own socket: unlike FreeIPMI's, it detects "port
// unreachable", and its connect timeout is separate from the request timeout. This keeps sweeps over dead BMCs short.
#pragma once

#include "base/result.h"
#include "oob/bmc/endpoint.h"

namespace weft::oob {

// Ok: an RMCP device responded. unavailable: no response within the connect limit, port closed, or no route.
// invalid_input: the response was not a reply to the request.
[[nodiscard]] Status probe_ipmi(const Endpoint& endpoint);

}  // namespace weft::oob
