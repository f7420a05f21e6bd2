// The SHA-256 fingerprint of a certificate, as `openssl x509 -fingerprint -sha256` prints it: computed, and read as
// people write it. Whether a certificate is trusted is decided elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "lazy/crypto.h"

namespace weft::http {

// Of the certificate's DER: 64 hexadecimal digits. Empty if it cannot be computed.
[[nodiscard]] std::string fingerprint_of(X509* certificate);
// The 64 digits of "sha256:..." or "AB:CD:..."; empty if it is not a fingerprint.
[[nodiscard]] std::string parse_fingerprint(std::string_view text);

}  // namespace weft::http
