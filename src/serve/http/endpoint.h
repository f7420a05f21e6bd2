// Where a client finds `weft serve`, and how it knows that it is the right one: a Unix socket, or an https URL with the
// CA or the certificate to trust. Connecting is in client.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/http/tls_context.h"

namespace weft::serve {

struct Endpoint {
  std::string socket_path;  // "": TLS to host and port
  std::string host;         // name, IPv4 or IPv6 address, which the certificate must be for
  std::uint16_t port = 8443;
  TlsTrust trust;
  std::string token;  // bearer token; sent only over verified TLS

  [[nodiscard]] static Endpoint unix_socket(std::string path);
  // "https://weft.example.org", "https://192.0.2.7:8443", "https://[2001:db8::7]/".
  [[nodiscard]] static Result<Endpoint> from_url(std::string_view url);

  [[nodiscard]] bool is_local() const { return !socket_path.empty() || host.empty(); }
  // The socket's path or the URL.
  [[nodiscard]] std::string text() const;
  // For the Host header.
  [[nodiscard]] std::string authority() const;
};

}  // namespace weft::serve
