// X.509 certificates and private keys for TLS: reading them from PEM files with checked modes, and making
// the self-signed certificate of a server that has none configured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "lazy/crypto.h"

namespace weft::serve {

struct FreeCrypto {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Certificate = std::unique_ptr<X509, FreeCrypto>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeCrypto>;

struct TlsFiles {
  std::string certificate;  // PEM: the server's, then those of intermediate CAs
  std::string key;          // PEM, without a passphrase
  std::string client_ca;    // PEM: who signs certificates of clients; "": they are not asked for any
};

// At least one.
[[nodiscard]] Result<std::vector<Certificate>> read_certificates(const std::string& path);
// An error if others may read it, if its group may write it, or if it belongs to neither root nor this process's user.
[[nodiscard]] Result<PrivateKey> read_private_key(const std::string& path);

// The end of its validity, milliseconds since 1970; 0 if it cannot be read.
[[nodiscard]] std::int64_t end_of_validity(X509* certificate);
// Attributes of the subject, such as NID_commonName, as UTF-8.
[[nodiscard]] std::vector<std::string> subject_fields(X509* certificate, int nid);

// A certificate and its key (ECDSA P-256), in memory.
struct KeyPair {
  Certificate certificate;
  PrivateKey key;
};
struct CertificatePlan {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> names;  // host names and IP addresses
  bool is_authority = false;
  bool for_clients = false;
  Duration starts = milliseconds(-3'600'000);  // from now
  Duration ends = milliseconds(std::int64_t{3650} * 24 * 3'600'000);
};
// Signed by the issuer, or by itself.
[[nodiscard]] Result<KeyPair> make_certificate(const CertificatePlan& plan, const KeyPair* issuer = nullptr);
[[nodiscard]] std::string to_pem(X509* certificate);
[[nodiscard]] std::string to_pem(EVP_PKEY* key);

struct SelfSigned {
  TlsFiles files;
  std::string fingerprint;
};
// The folder's tls.pem and tls.key (mode 0600); creates them if they are not there, for localhost, the loopback
// addresses and these names.
[[nodiscard]] Result<SelfSigned> make_self_signed(const std::string& folder, const std::vector<std::string>& names);

}  // namespace weft::serve
