#include "serve/http/connection.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/text.h"
#include "serve/http/sse.h"
#include "serve/http/unix_socket.h"

namespace weft::serve {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxKeptBytes = 1024;                         // of a buffer that has been written
constexpr std::size_t kEncryptBytes = std::size_t{64} << 10U;       // at a time
constexpr std::size_t kMaxLingeringBytes = std::size_t{16} << 20U;  // that a client sends after its request was refused
constexpr std::size_t kMaxStreamedBytes = std::size_t{64} << 10U;   // that a client sends while it gets a stream
constexpr Duration kLingering = milliseconds(2'000);
constexpr unsigned char kHandshakeRecord = 22;  // RFC 8446 section 5.1
constexpr std::string_view kAllMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

std::chrono::nanoseconds to_chrono(Duration duration) { return std::chrono::nanoseconds(duration.count()); }

void release(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kMaxKeptBytes) buffer.shrink_to_fit();
}

}  // namespace

ServerConnection::ServerConnection(ServerState& server, Socket socket, ConnectionOrigin origin,
                                   std::unique_ptr<TlsChannel> tls)
    : server_(server),
      socket_(std::move(socket)),
      timer_(server.io),
      origin_(std::move(origin)),
      tls_(std::move(tls)),
      reader_(server.options.limits) {}

void ServerConnection::start() {
  watch_hangup();
  if (!tls_) return proceed(RequestReader::State::more);
  phase_ = Phase::handshaking;
  set_deadline(server_.options.handshake_deadline);
  await_bytes();
}

std::size_t ServerConnection::buffered_bytes() const {
  return pending_.size() - encrypted_ + writing_.size() - written_ + (tls_ ? tls_->output().size() : 0);
}

// While the handler works, or events are due on a Unix socket, nothing is read, so a client that goes away is noticed
// by its hangup. A client that only ends its own sending (shutdown(2), as nc -N does) still gets its response.
void ServerConnection::watch_hangup() {
  socket_.async_wait(Socket::wait_error, [self = shared_from_this()](BoostError error) {
    if (error || !self->is_open()) return;
    if (!has_hung_up(self->socket_.native_handle())) return self->watch_hangup();
    self->hung_up_ = true;
    if (self->phase_ != Phase::reading) self->close();  // otherwise what it has sent is read first, up to its end
  });
}

void ServerConnection::await_bytes() {
  if (awaits_bytes_) return;
  awaits_bytes_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](BoostError error) {
    self->awaits_bytes_ = false;
    // TCP has no hangup for a client that closed its socket: only reading tells that a stream has no reader.
    const bool watches_stream = self->phase_ == Phase::streaming && self->tls_;
    if (self->phase_ != Phase::handshaking && self->phase_ != Phase::reading && self->phase_ != Phase::lingering &&
        !watches_stream)
      return;
    if (error) return self->close();
    self->read_bytes();
  });
}

void ServerConnection::read_bytes() {
  BoostError error;
  const std::size_t count = socket_.read_some(asio::buffer(server_.scratch), error);
  if (error == asio::error::would_block || error == asio::error::interrupted) return await_bytes();
  if (error) return phase_ == Phase::handshaking ? fail_handshake() : close();  // the end, too
  if (phase_ == Phase::lingering) return drop_bytes(count);
  const std::string_view bytes(server_.scratch.data(), count);
  if (tls_) return read_tls(bytes);
  proceed(reader_.feed(bytes));
}

void ServerConnection::read_tls(std::string_view bytes) {
  if (!std::exchange(has_read_, true) && static_cast<unsigned char>(bytes.front()) != kHandshakeRecord)
    return refuse_plain_http(bytes);
  server_.plain.clear();
  const TlsChannel::State state = tls_->receive(bytes, server_.plain);
  if (state == TlsChannel::State::failed) return phase_ == Phase::handshaking ? fail_handshake() : close();
  flush();
  if (state == TlsChannel::State::handshaking) return await_bytes();
  if (phase_ == Phase::handshaking) {
    ++server_.counters.handshakes;
    if (std::optional<ClientCertificate> certificate = tls_->peer_certificate())
      certificate_ = std::make_unique<ClientCertificate>(std::move(*certificate));
    phase_ = Phase::reading;
    set_deadline(server_.options.idle_limit);
  }
  read_plain(state == TlsChannel::State::closed);
}

// What was decrypted; `ended`: the client sends nothing after it.
void ServerConnection::read_plain(bool ended) {
  if (phase_ == Phase::streaming) {
    if (ended) return close();
    return drop_bytes(server_.plain.size());
  }
  if (server_.plain.empty()) {
    if (ended) return close();
    return await_bytes();
  }
  proceed(reader_.feed(server_.plain));
  if (ended && phase_ == Phase::reading) close();
}

void ServerConnection::drop_bytes(std::size_t count) {
  dropped_ += count;
  if (dropped_ > (phase_ == Phase::lingering ? kMaxLingeringBytes : kMaxStreamedBytes)) return close();
  await_bytes();
}

// Browsers and scripts that were told http:// get a hint; it is not encrypted and says nothing else.
void ServerConnection::refuse_plain_http(std::string_view bytes) {
  ++server_.counters.handshake_failures;
  if (!is_letter(bytes.front())) return close();
  tls_.reset();
  HttpResponse response{400, "text/plain", "this port speaks TLS: use https://\n", {}};
  reject(response);
}

// Sends the alert that says why.
void ServerConnection::fail_handshake() {
  ++server_.counters.handshake_failures;
  if (buffered_bytes() == 0) return close();
  phase_ = Phase::responding;
  keep_alive_ = false;
  lingers_ = true;  // with TLS 1.3 the client may have sent its request already
  set_deadline(server_.options.response_deadline);
  flush();
}

void ServerConnection::proceed(RequestReader::State state) {
  count_body(reader_.body_bytes());
  switch (state) {
    case RequestReader::State::complete:
      return dispatch();
    case RequestReader::State::invalid:
      return reject(reader_.rejection());
    case RequestReader::State::expects_continue:
      enqueue("HTTP/1.1 100 Continue\r\n\r\n");
      break;
    case RequestReader::State::more:
      break;
  }
  if (server_.total_body_bytes > server_.options.max_total_body_bytes)
    return reject(problem(503, "the server is reading too many large requests: retry later"));
  if (reader_.is_idle()) {
    set_deadline(server_.options.idle_limit);
  } else if (!request_started_) {
    request_started_ = true;
    set_deadline(server_.options.request_deadline);
  }
  await_bytes();
}

void ServerConnection::count_body(std::size_t bytes) {
  server_.total_body_bytes += bytes;
  server_.total_body_bytes -= body_bytes_;
  body_bytes_ = bytes;
}

void ServerConnection::dispatch() {
  clear_deadline();
  phase_ = Phase::handling;
  request_started_ = false;
  ++server_.counters.requests;
  HttpRequest request = reader_.take_request();
  request.is_local = origin_.is_local;
  request.peer = origin_.peer;
  request.address = origin_.address;
  if (certificate_) request.certificate = *certificate_;
  if (request.request_id.empty()) request.request_id = make_request_id();
  if (!request.scheme.empty() && (request.scheme == "https") != (tls_ != nullptr))
    return respond(problem(421, fmt::format("{}:// is not served here", request.scheme)));
  if (request.path == "*") return respond({204, {}, {}, {{"Allow", std::string(kAllMethods)}}});
  server_.handler(std::move(request), Responder(weak_from_this()));
}

std::string ServerConnection::make_request_id() {
  return server_.request_prefix + std::to_string(++server_.last_request);
}

ResponseFraming ServerConnection::framing() const {
  ResponseFraming framing = reader_.framing();
  framing.over_tls = tls_ != nullptr;
  return framing;
}

void ServerConnection::respond(const HttpResponse& response) {
  if (phase_ != Phase::handling) return;
  phase_ = Phase::responding;
  ResponseFraming framing = this->framing();
  if (server_.stopping || (tls_ && tls_->state() != TlsChannel::State::open)) framing.keep_alive = false;
  keep_alive_ = framing.keep_alive;
  set_deadline(server_.options.response_deadline);
  std::string bytes = format_response_head(response, framing);
  if (!framing.head_only) bytes += response.body;
  enqueue(std::move(bytes));
}

void ServerConnection::reject(HttpResponse response) {
  ++server_.counters.rejected;
  response.headers.emplace_back("X-Request-Id", make_request_id());
  count_body(0);
  phase_ = Phase::responding;
  keep_alive_ = false;
  lingers_ = !origin_.is_local;  // closing a TCP socket that has unread bytes destroys the response on its way
  set_deadline(server_.options.response_deadline);
  ResponseFraming framing = this->framing();
  framing.keep_alive = false;
  framing.http_1_0 = false;
  std::string bytes = format_response_head(response, framing);
  if (!framing.head_only) bytes += response.body;
  enqueue(std::move(bytes));
}

void ServerConnection::finish_response() {
  if (keep_alive_ && !server_.stopping) {
    phase_ = Phase::reading;
    return proceed(reader_.next());
  }
  if (tls_) {
    tls_->send_close();
    if (!tls_->output().empty()) return flush();  // and comes back here
  }
  if (lingers_) return linger();
  close();
}

void ServerConnection::linger() {
  phase_ = Phase::lingering;
  BoostError error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) return close();
  set_deadline(kLingering);
  await_bytes();
}

bool ServerConnection::open_stream() {
  if (phase_ != Phase::handling) return false;
  phase_ = Phase::streaming;
  keep_alive_ = false;
  last_progress_ = SteadyClock::now();
  enqueue(format_stream_head(framing()));
  set_deadline(server_.options.heartbeat_interval);
  if (tls_) await_bytes();
  if (reader_.framing().head_only || server_.stopping) end_stream();
  return is_streaming();
}

bool ServerConnection::send_event(std::uint64_t id, std::string_view event, std::string_view data) {
  if (phase_ != Phase::streaming) return false;
  const std::string text = format_event(id, event, data);
  if (buffered_bytes() > 0 && buffered_bytes() + text.size() > server_.options.max_stream_bytes) {
    ++server_.counters.slow_streams;
    close();
    return false;
  }
  send_chunk(text);
  return is_streaming();
}

void ServerConnection::send_chunk(std::string_view bytes) {
  if (reader_.framing().http_1_0) return enqueue(std::string(bytes));
  std::string chunk;
  chunk.reserve(bytes.size() + 16);
  append_format(chunk, "{:x}\r\n", bytes.size());
  enqueue(chunk.append(bytes).append("\r\n"));
}

void ServerConnection::end_stream() {
  if (phase_ != Phase::streaming) return;
  phase_ = Phase::responding;
  when_drained_ = nullptr;
  set_deadline(server_.options.response_deadline);
  if (!reader_.framing().http_1_0 && !reader_.framing().head_only) {
    enqueue("0\r\n\r\n");
  } else if (buffered_bytes() == 0) {
    post_drained();
  }
}

void ServerConnection::notify_when_drained(std::function<void()> callback) {
  if (phase_ != Phase::streaming) return;
  when_drained_ = std::move(callback);
  if (buffered_bytes() == 0) post_drained();
}

void ServerConnection::enqueue(std::string bytes) {
  if (buffered_bytes() == 0) last_progress_ = SteadyClock::now();
  if (pending_.empty()) {
    pending_ = std::move(bytes);
  } else {
    pending_ += bytes;
  }
  flush();
}

void ServerConnection::flush() {
  if (writing_.empty() && buffered_bytes() > 0) write_some();
}

// What is written next. Only so much is encrypted at a time that a large response does not exist twice.
void ServerConnection::fill_writing() {
  if (!tls_) return writing_.swap(pending_);
  const std::size_t count = std::min(kEncryptBytes, pending_.size() - encrypted_);
  tls_->send(std::string_view(pending_).substr(encrypted_, count));
  encrypted_ += count;
  if (encrypted_ == pending_.size()) {
    release(pending_);
    encrypted_ = 0;
  } else if (encrypted_ > pending_.size() / 2) {
    pending_.erase(0, encrypted_);
    encrypted_ = 0;
  }
  writing_.swap(tls_->output());
}

void ServerConnection::write_some() {
  if (writing_.empty()) fill_writing();
  if (writing_.empty()) return close();  // TLS has failed
  socket_.async_write_some(asio::buffer(writing_.data() + written_, writing_.size() - written_),
                           [self = shared_from_this()](BoostError error, std::size_t count) {
                             if (!self->is_open()) return;
                             if (error) return self->close();
                             self->on_written(count);
                           });
}

void ServerConnection::on_written(std::size_t count) {
  last_progress_ = SteadyClock::now();
  written_ += count;
  if (written_ < writing_.size()) return write_some();
  written_ = 0;
  release(writing_);
  if (buffered_bytes() > 0) return write_some();
  on_drained();
}

void ServerConnection::on_drained() {
  if (phase_ == Phase::responding) return finish_response();
  if (phase_ == Phase::streaming && when_drained_) std::exchange(when_drained_, nullptr)();
}

// For what follows the last byte when there is none to write; never calls back before it returns.
void ServerConnection::post_drained() {
  asio::post(server_.io, [self = shared_from_this()] {
    if (self->is_open() && self->buffered_bytes() == 0) self->on_drained();
  });
}

void ServerConnection::set_deadline(Duration delay) {
  deadline_ = SteadyClock::now() + to_chrono(delay);
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](BoostError error) {
    // A wait that had ended when the deadline was moved comes here without an error.
    if (!error && self->is_open() && SteadyClock::now() >= self->deadline_) self->on_deadline();
  });
}

void ServerConnection::clear_deadline() {
  BoostError ignored;
  timer_.cancel(ignored);
}

void ServerConnection::on_deadline() {
  switch (phase_) {
    case Phase::handshaking:
      ++server_.counters.handshake_failures;
      return close();
    case Phase::reading:
      if (reader_.is_idle()) return close();
      return reject(problem(408, "the request took too long to arrive"));
    case Phase::responding:
    case Phase::lingering:
      return close();
    case Phase::streaming:
      return on_heartbeat();
    case Phase::handling:
    case Phase::closed:
      return;
  }
}

// Also finds clients that have stopped reading, when there are too few events to fill what is buffered for them.
void ServerConnection::on_heartbeat() {
  if (buffered_bytes() == 0) {
    send_chunk(kHeartbeat);
  } else if (SteadyClock::now() - last_progress_ >= to_chrono(server_.options.stream_stall_limit)) {
    ++server_.counters.slow_streams;
    return close();
  }
  set_deadline(server_.options.heartbeat_interval);
}

void ServerConnection::stop() {
  switch (phase_) {
    case Phase::reading:
      return reader_.is_idle() ? close() : reject(problem(503, "the server is stopping"));
    case Phase::streaming:
      return end_stream();
    case Phase::handshaking:
    case Phase::lingering:
      return close();
    case Phase::handling:
    case Phase::responding:
    case Phase::closed:
      return;
  }
}

void ServerConnection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  phase_ = Phase::closed;
  count_body(0);
  when_drained_ = nullptr;
  clear_deadline();
  BoostError ignored;
  socket_.close(ignored);
  server_.on_close(self);
}

}  // namespace weft::serve
