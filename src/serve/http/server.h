// HTTP/1.1 server on a Unix socket and, over TLS, on TCP addresses, with server-sent events, timers and signals: the
// event loop of `weft serve`. All of it runs in the thread that calls run_for() or run_once(), where the handler may
// answer at once or later. Routes, access rights and what an event means are the handler's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "serve/http/message.h"
#include "serve/http/request_reader.h"
#include "serve/http/responder.h"
#include "serve/http/tcp_socket.h"
#include "serve/http/tls_context.h"

namespace weft::serve {

struct HttpOptions {
  std::string socket_path;
  unsigned socket_mode = 0660;
  std::vector<TcpListener> listeners;  // TLS only, so they need `tls`
  std::shared_ptr<TlsContext> tls;

  RequestLimits limits;                                       // beyond: 431 or 413, and close
  std::size_t max_total_body_bytes = std::size_t{64} << 20U;  // in requests that are being read; beyond: 503 and close
  std::size_t max_stream_bytes = std::size_t{1} << 20U;       // events that a client has not read yet; beyond: close
  std::size_t max_connections = 4096;                         // of all kinds; beyond: 503 (Unix socket) and close
  std::size_t reserved_for_unix = 128;           // of them; TCP has the rest, or what the limit on descriptors allows
  std::size_t max_connections_per_uid = 512;     // Unix socket; beyond: 503 and close
  std::size_t max_connections_per_source = 256;  // TCP: of an IPv4 address or an IPv6 /64; beyond: close

  Duration handshake_deadline = milliseconds(10'000);  // of TLS; beyond: close
  Duration request_deadline = milliseconds(30'000);    // from a request's first byte to its last; beyond: 408 and close
  Duration response_deadline = milliseconds(30'000);   // for a client to read the response; beyond: close
  Duration idle_limit = milliseconds(60'000);          // between requests; beyond: close
  Duration stop_deadline = milliseconds(5'000);        // for outstanding responses after stop()
  Duration heartbeat_interval = milliseconds(15'000);
  Duration stream_stall_limit = milliseconds(60'000);  // without reading anything of what is due; beyond: close
  Duration accept_retry = milliseconds(100);           // when the process has no file descriptor left
};

struct HttpCounters {
  std::size_t connections = 0;  // open now
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;         // by a limit on connections
  std::uint64_t source_refused = 0;  // of them: by the limit per source
  std::uint64_t handshakes = 0;      // of TLS, complete
  std::uint64_t handshake_failures = 0;
  std::uint64_t requests = 0;
  std::uint64_t rejected = 0;        // invalid, too large or too slow
  std::uint64_t accept_retries = 0;  // accept(2) failed
  std::uint64_t slow_streams = 0;    // closed because the client did not read its events
};

using HttpHandler = std::function<void(HttpRequest, Responder)>;
using TimerId = std::uint64_t;

class HttpServer {
 public:
  // Creates the sockets; connections are accepted while the event loop runs.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(const HttpOptions& options, HttpHandler handler);
  ~HttpServer();  // closes every connection and removes the socket file
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Runs the event loop for this time, or until interrupt(), or until a stopped server has no connection left.
  void run_for(Duration limit);
  // Waits at most this long for something to do, then does everything that is ready; returns how many callbacks ran.
  std::size_t run_once(Duration limit);
  std::size_t poll() { return run_once(Duration()); }
  // Ends the current run_for() after the current callback.
  void interrupt();

  // Runs the callback in the event loop; may be called from any thread.
  void post(std::function<void()> callback);
  TimerId run_after(Duration delay, std::function<void()> callback);
  void cancel_timer(TimerId timer);
  // Calls back with the signal's number, in the event loop, instead of the signal's usual effect. At most once per
  // process and signal.
  [[nodiscard]] Status watch_signals(const std::vector<int>& signals, std::function<void(int)> callback);

  // Removes the socket file, closes the listeners and accepts no more connections and requests. Idle connections and
  // streams end now; requests that were passed to the handler may still be answered until stop_deadline.
  void stop();
  [[nodiscard]] bool is_stopped() const;  // stop() was called, and no connection is left

  [[nodiscard]] HttpCounters counters() const;
  // Of HttpOptions::listeners.
  [[nodiscard]] std::uint16_t port(std::size_t listener = 0) const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::serve
