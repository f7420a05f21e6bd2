// Is there a BMC at all? One question that every BMC answers without a session (Get Channel Authentication
// Capabilities, IPMI 2.0 section 22.13), asked through a socket of our own: it hears "port unreachable", which
// FreeIPMI's does not, and it keeps the time limit of a connection apart from that of a request. A sweep over dead BMCs
// costs what it must and no more.
#pragma once

#include "base/result.h"
#include "oob/bmc/endpoint.h"

namespace weft::oob {

// Ok: something that speaks RMCP answered. unavailable: nothing did within the connect limit, nobody listens, or there
// is no route. invalid_input: what came was no answer to the question.
[[nodiscard]] Status probe_ipmi(const Endpoint& endpoint);

}  // namespace weft::oob
