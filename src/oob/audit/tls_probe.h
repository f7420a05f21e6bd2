// What is wrong with the certificate a BMC shows, found by a handshake that sends no login: an audit must not hand a
// password to whoever sits in between to learn that he is there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"

namespace weft::oob {

struct TlsFacts {
  std::vector<std::string> problems;  // "is self-signed", "expired"; empty: proven by the endpoint's trust
  std::string protocol;               // "TLSv1.3"
};

// Checks against the endpoint's pin, its CA file, or the system's certificates, and the name or address dialled. An
// error when no handshake came about.
[[nodiscard]] Result<TlsFacts> probe_tls(const Endpoint& endpoint);

}  // namespace weft::oob
