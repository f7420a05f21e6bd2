// The certificates of simulated BMCs: one CA, one key, and a certificate per address, issued on first use, because
// issuing tens of thousands upfront would cost a minute and 50 MB. Also the invalid ones that faults need. Keys are
// ECDSA P-256.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "lazy/ssl.h"

namespace weft::bmcsim {

enum class SimCertificate : std::uint8_t { right, other_authority, other_name, expired };

class SimTls {
 public:
  // With a folder: loads ca.pem and ca.key from there, or creates and stores them there.
  [[nodiscard]] static Result<std::unique_ptr<SimTls>> make(const std::string& folder);
  SimTls(const SimTls&) = delete;
  SimTls& operator=(const SimTls&) = delete;
  ~SimTls();

  [[nodiscard]] const std::string& ca_pem() const { return ca_pem_; }

  // The certificate of one connection; must outlive it.
  struct Choice {
    SimTls* tls = nullptr;
    Ipv4 address{};
    SimCertificate certificate = SimCertificate::right;
  };
  // The server side of TLS on a connected non-blocking socket; null if out of memory.
  [[nodiscard]] SSL* open(int socket, Choice* choice);

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;
  struct Authority {
    Key key;
    Certificate certificate;
  };

  SimTls() = default;
  [[nodiscard]] static Result<Authority> new_authority(const char* name);
  [[nodiscard]] static Result<Authority> kept_authority(const std::string& folder);
  [[nodiscard]] Certificate issue(const Choice& choice);
  [[nodiscard]] Certificate find_or_issue(const Choice& choice);
  static int choose(SSL* connection, void* choice);

  Authority authority_;
  Authority other_;  // created when a fault first needs it
  Key key_;          // shared by all BMCs
  std::unique_ptr<SSL_CTX, Free> context_;
  std::string ca_pem_;
  std::unordered_map<std::uint32_t, std::vector<unsigned char>> issued_;  // DER, by address
};

}  // namespace weft::bmcsim
