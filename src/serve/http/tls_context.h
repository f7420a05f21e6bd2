// What the two ends of TLS accept, and where their channels come from: the server's certificate, which can be reloaded
// while connections go on, and how a client verifies a server. TLS 1.2 and later, forward secrecy and authenticated
// encryption only, no renegotiation, compression or resumption.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "serve/http/certificate.h"
#include "serve/http/tls_channel.h"

namespace weft::serve {

// For the server's thread only.
class TlsContext {
 public:
  [[nodiscard]] static Result<std::shared_ptr<TlsContext>> load(TlsFiles files);

  // Reads the files again, or others from now on. If they are not valid the old ones stay in use, and the error says
  // why. Connections keep the certificate they began with.
  [[nodiscard]] Status reload() { return reload(files_); }
  [[nodiscard]] Status reload(TlsFiles files);

  // Null if out of memory.
  [[nodiscard]] std::unique_ptr<TlsChannel> open() const;

  [[nodiscard]] const TlsFiles& files() const { return files_; }
  [[nodiscard]] const std::string& fingerprint() const { return loaded_.fingerprint; }  // of the certificate in use
  // Of the files in use, such as an expired certificate.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return loaded_.warnings; }

 private:
  struct Loaded {
    std::unique_ptr<SSL_CTX, FreeSsl> context;
    std::string fingerprint;
    std::vector<std::string> warnings;
  };
  TlsContext() = default;
  [[nodiscard]] static Result<Loaded> load_files(const TlsFiles& files);

  TlsFiles files_;
  Loaded loaded_;
};

// Which server a client believes, and who it is itself.
struct TlsTrust {
  std::string ca_file;      // PEM; "": the system's
  std::string fingerprint;  // of the server's certificate (parse_fingerprint()): no other one is believed, and no CA
  std::string certificate;  // PEM, of the client; "": none
  std::string key;
};

class TlsClientContext {
 public:
  [[nodiscard]] static Result<std::shared_ptr<TlsClientContext>> load(const TlsTrust& trust);
  // To a server whose certificate must be for this host name or address. Null if out of memory.
  [[nodiscard]] std::unique_ptr<TlsChannel> open(const std::string& host) const;

 private:
  TlsClientContext() = default;
  static int judge(X509_STORE_CTX* chain, void* self);

  std::unique_ptr<SSL_CTX, FreeSsl> context_;
  std::string fingerprint_;
};

}  // namespace weft::serve
