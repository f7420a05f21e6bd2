// Problems of a BMC's TLS certificate, found by a handshake without a login: the audit must not expose a password to a
// man in the middle in order to detect it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"
#include "oob/redfish/certificate.h"

namespace weft::oob {

struct TlsFacts {
  std::vector<std::string> problems;  // "is self-signed", "expired"; empty: verified against the endpoint's trust
  std::string protocol;               // "TLSv1.3"
  CertificateFacts certificate;
};

// Checks against the endpoint's accepted fingerprint, its pin, its CA file or the system's certificates, and against
// the name or address dialed; through its proxy. An error if the handshake failed.
[[nodiscard]] Result<TlsFacts> probe_tls(const Endpoint& endpoint);

}  // namespace weft::oob
