// The client's end of a connection to `weft serve`, before any HTTP: a Unix socket, or TCP with verified TLS. Says
// exactly why a server cannot be reached or is not trusted.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/socket.h"
#include "serve/http/endpoint.h"

namespace weft::serve {

class ClientLink {
 public:
  // Errors: `unavailable` if nothing listens there or the host is unknown, `refused` without permission or if the
  // server's certificate is not trusted, `timeout`, `invalid_input` if a certificate or key file cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<ClientLink>> open(const Endpoint& endpoint, Deadline deadline);

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] bool is_encrypted() const { return tls_ != nullptr; }
  // The bytes that carry this text.
  [[nodiscard]] std::string encode(std::string plain);
  // Appends the text that these bytes carry; false if they are not valid, or the server has refused this client: then
  // problem() says why.
  [[nodiscard]] bool decode(std::string_view bytes, std::string& plain);
  // Whether the end of the connection is the end of what the server had to say, and not one that somebody else made.
  [[nodiscard]] bool may_end() const { return !tls_ || tls_->state() == TlsChannel::State::closed; }
  [[nodiscard]] std::string problem() const { return tls_ ? tls_->problem() : std::string(); }

 private:
  ClientLink() = default;
  [[nodiscard]] Status connect(const Endpoint& endpoint, Deadline deadline);
  [[nodiscard]] Status shake_hands(const Endpoint& endpoint, Deadline deadline);
  [[nodiscard]] Status send_output(const Endpoint& endpoint, Deadline deadline);

  FileDescriptor socket_;
  std::shared_ptr<TlsClientContext> context_;  // outlives the channel
  std::unique_ptr<TlsChannel> tls_;
};

}  // namespace weft::serve
