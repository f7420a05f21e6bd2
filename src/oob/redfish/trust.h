// What proves a BMC's certificate: a store of authorities, shared by all who name the same file, and pins of keys.
#pragma once

#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::oob {

using CertificateStore = std::shared_ptr<X509_STORE>;

// The certificates of a file, or the system's when there is none. Parsed once, as thousands of sessions trust the same
// authority; the file's content is the key, so that a changed file is seen. Safe to call from many threads.
[[nodiscard]] Result<CertificateStore> trusted_store(const std::string& ca_file);

// "sha256//BASE64" of the DER of a certificate's public key (RFC 7469, section 2.4); what `pin` wants.
[[nodiscard]] std::string pin_of_certificate(X509* certificate);
// The same from PEM. Empty when it is no PEM certificate.
[[nodiscard]] std::string pin_of_pem(std::string_view pem);
// One or more pins, separated by semicolons. libcurl would take anything else for the name of a file.
[[nodiscard]] bool is_pin(std::string_view text);

}  // namespace weft::oob
