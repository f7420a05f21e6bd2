// One client's connection to the HTTP server: reads requests, passes them to the handler, and writes responses or a
// stream of events, within the limits, in the clear (Unix socket) or over TLS. Internal to the server.
#pragma once

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/server.h"
#include "serve/http/tls_channel.h"

namespace weft::serve {

class ServerConnection;

// What all connections of a server share with it.
struct ServerState {
  ServerState(const HttpOptions& server_options, HttpHandler request_handler)
      : options(server_options), handler(std::move(request_handler)) {}

  HttpOptions options;
  HttpHandler handler;
  HttpCounters counters;
  boost::asio::io_context io{1};                       // destroyed after everything that uses it
  std::array<char, std::size_t{64} << 10U> scratch{};  // what was read; idle connections have no buffer
  std::string plain;                                   // decrypted from it
  std::string request_prefix;                          // of the ids of requests that came without one
  std::uint64_t last_request = 0;
  std::size_t total_body_bytes = 0;
  bool stopping = false;
  std::function<void(const std::shared_ptr<ServerConnection>&)> on_close;
};

// Where a connection comes from.
struct ConnectionOrigin {
  bool is_local = true;
  Peer peer;            // of a Unix socket
  std::string address;  // otherwise
  std::string source;   // what its limit is counted by
};

// Its callbacks hold a reference to it; once closed it never touches the server again.
class ServerConnection : public HttpConnection, public std::enable_shared_from_this<ServerConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // With a channel, the connection begins with a TLS handshake.
  ServerConnection(ServerState& server, Socket socket, ConnectionOrigin origin, std::unique_ptr<TlsChannel> tls);

  void start();
  void respond(const HttpResponse& response) override;
  bool open_stream() override;
  bool send_event(std::uint64_t id, std::string_view event, std::string_view data) override;
  void end_stream() override;
  void notify_when_drained(std::function<void()> callback) override;
  void stop();
  void close();

  [[nodiscard]] bool is_open() const { return phase_ != Phase::closed; }
  [[nodiscard]] bool has_reader() const override { return is_open() && !hung_up_; }
  [[nodiscard]] bool is_streaming() const override { return phase_ == Phase::streaming; }
  [[nodiscard]] std::size_t buffered_bytes() const override;
  [[nodiscard]] const ConnectionOrigin& origin() const { return origin_; }

 private:
  enum class Phase : std::uint8_t {
    handshaking,  // TLS
    reading,      // waits for a request, or reads one
    handling,     // the handler has it
    responding,   // writes the response
    streaming,    // writes events
    lingering,    // the response is written; drops what the client still sends, so that it reads the response
    closed
  };
  using BoostError = boost::system::error_code;
  using SteadyClock = std::chrono::steady_clock;

  void watch_hangup();
  void await_bytes();
  void read_bytes();
  void read_tls(std::string_view bytes);
  void read_plain(bool ended);
  void drop_bytes(std::size_t count);
  void refuse_plain_http(std::string_view bytes);
  void proceed(RequestReader::State state);
  void dispatch();
  void reject(HttpResponse response);
  void finish_response();
  void fail_handshake();
  void linger();
  void count_body(std::size_t bytes);
  [[nodiscard]] std::string make_request_id();
  [[nodiscard]] ResponseFraming framing() const;

  void send_chunk(std::string_view bytes);
  void enqueue(std::string bytes);
  void flush();
  void fill_writing();
  void write_some();
  void on_written(std::size_t count);
  void on_drained();
  void post_drained();

  void set_deadline(Duration delay);
  void clear_deadline();
  void on_deadline();
  void on_heartbeat();

  ServerState& server_;
  Socket socket_;
  boost::asio::steady_timer timer_;
  SteadyClock::time_point deadline_;
  SteadyClock::time_point last_progress_;  // of writing
  ConnectionOrigin origin_;
  std::unique_ptr<TlsChannel> tls_;
  std::unique_ptr<ClientCertificate> certificate_;
  RequestReader reader_;
  std::string writing_;         // being written; no change until it is
  std::size_t written_ = 0;     // bytes of writing_
  std::string pending_;         // follows writing_; plain text
  std::size_t encrypted_ = 0;   // bytes of pending_ that are done
  std::size_t body_bytes_ = 0;  // counted in the server's total
  std::size_t dropped_ = 0;     // bytes that came when none should
  std::function<void()> when_drained_;
  Phase phase_ = Phase::reading;
  bool awaits_bytes_ = false;
  bool has_read_ = false;
  bool request_started_ = false;  // the deadline is the request's
  bool keep_alive_ = true;
  bool lingers_ = false;  // after the response
  bool hung_up_ = false;
};

}  // namespace weft::serve
