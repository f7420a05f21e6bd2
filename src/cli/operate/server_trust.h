// Whether a server's certificate is trusted, and its fingerprint if it is not: for `weft login`, which shows it and
// asks.
#pragma once

#include <optional>
#include <string>

#include "cli/operate/api_connection.h"

namespace weft::cli {

struct ServerTrust {
  bool trusted = false;
  std::string fingerprint;  // "sha256:..." of the certificate that the server showed
  std::string problem;      // why it is not trusted
};

// Connects, and sends nothing but a request for /healthz, and that only to a trusted server. An error if the server
// cannot be reached.
[[nodiscard]] Result<ServerTrust> check_server_trust(const ServerEndpoint& endpoint,
                                                     const ApiTransport& transport = {});

// The certificate that an error of serve::send_request() is about; nullopt: it is about something else.
[[nodiscard]] std::optional<ServerTrust> find_untrusted(const Error& error);
// What to tell a user who cannot be asked: the command that pins this certificate.
[[nodiscard]] Error untrusted_error(const ServerEndpoint& endpoint, const ServerTrust& trust);

}  // namespace weft::cli
