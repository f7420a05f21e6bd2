// Verification of a BMC's certificate: a CA store, shared by all sessions with the same CA file, and public key pins.
#pragma once

#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::oob {

using CertificateStore = std::shared_ptr<X509_STORE>;

// The certificates of a file, or the system's if none is given. Parsed once, since thousands of sessions use the same
// CA; cached by file content, so a changed file is noticed. Safe to call from many threads.
[[nodiscard]] Result<CertificateStore> trusted_store(const std::string& ca_file);

// "sha256//BASE64" of the DER of a certificate's public key (RFC 7469, section 2.4); the format of `pin`.
[[nodiscard]] std::string pin_of_certificate(X509* certificate);
// The same from PEM. Empty if it is not a PEM certificate.
[[nodiscard]] std::string pin_of_pem(std::string_view pem);
// One or more pins, separated by semicolons. libcurl would interpret anything else as a file name.
[[nodiscard]] bool is_pin(std::string_view text);

}  // namespace weft::oob
