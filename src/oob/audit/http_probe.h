// What a BMC answers to plain HTTP, found without a login: that HTTP is enabled does not mean that it is used, since
// most BMCs only redirect to HTTPS.
#pragma once

#include <cstdint>
#include <string>

#include "oob/bmc/bmc.h"

namespace weft::oob {

// Asks for the service root, then for "/", through the endpoint's proxy. Nothing secret is sent.
[[nodiscard]] HttpAnswer probe_http(const Endpoint& endpoint, std::uint16_t port);
// From the status of a response and where it redirects to; none: ask for another path. For tests and probe_http().
[[nodiscard]] std::optional<HttpAnswer> judge_http(long status, const std::string& redirect);

}  // namespace weft::oob
