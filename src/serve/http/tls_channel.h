// One end of a TLS connection without a socket: bytes from the network go in, and plain text and bytes for the network
// come out. OpenSSL does the protocol; tls_context.h makes channels and decides what they accept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lazy/ssl.h"
#include "serve/http/message.h"

namespace weft::serve {

struct FreeSsl {
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

class TlsChannel {
 public:
  enum class State : std::uint8_t {
    handshaking,
    open,
    closed,  // the other end has said that nothing more follows (close_notify)
    failed   // problem() says why; output() may have an alert for the other end
  };

  // Takes a session that has no BIO, in the accepting or connecting state.
  explicit TlsChannel(std::unique_ptr<SSL, FreeSsl> session);
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  // Takes bytes from the network, and appends the plain text in them. A client begins the handshake with no bytes.
  State receive(std::string_view bytes, std::string& plain);
  // Encrypts. Nothing happens unless the channel is open.
  void send(std::string_view plain);
  // Tells the other end that nothing more follows.
  void send_close();

  [[nodiscard]] State state() const { return state_; }
  // Bytes for the network; take them out of it.
  [[nodiscard]] std::string& output() { return pipe_.output; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  // Of the other end, once open; it is verified.
  [[nodiscard]] std::optional<ClientCertificate> peer_certificate() const;
  // Of a server whose certificate was judged, accepted or not: SHA-256 of its certificate, and the X509_V_ERR_ code.
  [[nodiscard]] const std::string& judged_fingerprint() const { return judged_fingerprint_; }
  [[nodiscard]] int judgment() const { return judgment_; }
  void set_judgment(std::string fingerprint, int code);
  // The channel of a session.
  [[nodiscard]] static TlsChannel* find(const SSL* session);

 private:
  // Where OpenSSL reads and writes: without buffers of its own, so that an idle channel is small.
  struct Pipe {
    std::string_view input;
    std::string output;
  };
  static int read_pipe(BIO* bio, char* out, int size);
  static int write_pipe(BIO* bio, const char* bytes, int size);
  static BIO_METHOD* pipe_method();

  void read_records(std::string& plain);
  void fail();

  std::unique_ptr<SSL, FreeSsl> session_;
  Pipe pipe_;
  std::string problem_;
  std::string judged_fingerprint_;
  int judgment_ = 0;
  State state_ = State::handshaking;
  bool sent_close_ = false;
};

}  // namespace weft::serve
