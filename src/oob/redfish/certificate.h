// What a BMC's certificate says, for people who decide whether to trust it. Verification is in
// redfish/trust.h.
#pragma once

#include <openssl/x509.h>

#include <string>

namespace weft::oob {

struct CertificateFacts {
  std::string subject;  // "C = US, O = Dell Inc., CN = idrac-7F3K2V3"
  std::string issuer;   // the same as the subject if it is self-signed
  std::string from;     // "2024-01-31T00:00:00Z"; empty if it is no time
  std::string until;
  std::string fingerprint;  // "sha256:" and 64 hexadecimal digits
};
[[nodiscard]] CertificateFacts describe_certificate(X509* certificate);

}  // namespace weft::oob
