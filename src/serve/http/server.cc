#include "serve/http/server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/text.h"
#include "serve/http/sse.h"
#include "serve/http/unix_socket.h"

namespace weft::serve {
namespace {

namespace asio = boost::asio;
using BoostError = boost::system::error_code;
using UnixSocket = asio::local::stream_protocol::socket;
using UnixAcceptor = asio::local::stream_protocol::acceptor;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr std::size_t kMaxKeptBytes = std::size_t{64} << 10U;  // of a buffer that has been written
constexpr int kMaxAcceptsAtOnce = 64;
constexpr std::string_view kAllMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

std::chrono::nanoseconds to_chrono(Duration duration) { return std::chrono::nanoseconds(duration.count()); }

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpHandler handler) : options_(options), handler_(std::move(handler)) {}
  ~Impl() { close_all(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Status open();
  void run_for(Duration limit);
  std::size_t run_once(Duration limit);
  void stop();
  [[nodiscard]] bool is_stopped() const { return stopping_ && connections_.empty(); }
  [[nodiscard]] HttpCounters counters() const;

  TimerId start_timer(Duration delay, std::function<void()> callback);
  [[nodiscard]] Status watch_signals(const std::vector<int>& signals, std::function<void(int)> callback);
  void remove(const std::shared_ptr<Connection>& connection, const Peer& peer);

 private:
  friend class HttpServer;  // and so its Connection
  struct SignalWatch {
    explicit SignalWatch(asio::io_context& io) : set(io) {}
    asio::signal_set set;
    std::function<void(int)> callback;
  };

  void await_connections();
  void accept_connections();
  void retry_accepting();
  void admit(FileDescriptor socket);
  void refuse(const FileDescriptor& socket, std::string_view why);
  void await_signal(SignalWatch& watch);
  void close_listener();
  void close_all();

  HttpOptions options_;
  HttpHandler handler_;
  HttpCounters counters_;
  asio::io_context io_{1};  // destroyed after everything that uses it
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::array<char, kReadBytes> scratch_{};  // for every connection: idle ones have no buffer
  std::unordered_map<TimerId, std::unique_ptr<asio::steady_timer>> timers_;
  std::size_t total_body_bytes_ = 0;
  bool stopping_ = false;
  bool interrupted_ = false;
  UnixListener listener_;
  UnixAcceptor acceptor_{io_};
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::unordered_map<std::uint32_t, std::size_t> connections_per_uid_;
  std::vector<std::unique_ptr<SignalWatch>> signals_;
  TimerId last_timer_ = 0;
};

// One client. Its callbacks hold a reference to it; once closed it never touches the server again.
class HttpServer::Connection : public HttpConnection, public std::enable_shared_from_this<HttpServer::Connection> {
 public:
  Connection(Impl& server, UnixSocket socket, const Peer& peer)
      : server_(server), socket_(std::move(socket)), timer_(server.io_), peer_(peer), reader_(server.options_.limits) {}

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
  [[nodiscard]] std::size_t buffered_bytes() const override { return pending_.size() + writing_.size() - written_; }

 private:
  enum class Phase : std::uint8_t {
    reading,     // waits for a request, or reads one
    handling,    // the handler has it
    responding,  // writes the response
    streaming,   // writes events
    closed
  };

  void watch_hangup();
  void await_bytes();
  void read_bytes();
  void proceed(RequestReader::State state);
  void dispatch();
  void reject(const HttpResponse& response);
  void finish_response();
  void count_body(std::size_t bytes);

  void send_chunk(std::string_view bytes);
  void enqueue(std::string bytes);
  void write_some();
  void on_written(std::size_t count);
  void on_drained();
  void post_drained();

  void set_deadline(Duration delay);
  void clear_deadline();
  void on_deadline();

  Impl& server_;
  UnixSocket socket_;
  asio::steady_timer timer_;
  SteadyClock::time_point deadline_;
  Peer peer_;
  RequestReader reader_;
  std::string writing_;         // being written; no change until it is
  std::size_t written_ = 0;     // bytes of writing_
  std::string pending_;         // follows writing_
  std::size_t body_bytes_ = 0;  // counted in the server's total
  std::function<void()> when_drained_;
  Phase phase_ = Phase::reading;
  bool request_started_ = false;  // the deadline is the request's
  bool keep_alive_ = true;
  bool hung_up_ = false;
};

void HttpServer::Connection::start() {
  watch_hangup();
  proceed(RequestReader::State::more);
}

// While the handler works or events are due nothing is read, so a client that goes away is noticed by its hangup. A
// client that only ends its own sending (shutdown(2), as nc -N does) still gets its response.
void HttpServer::Connection::watch_hangup() {
  socket_.async_wait(UnixSocket::wait_error, [self = shared_from_this()](BoostError error) {
    if (error || !self->is_open()) return;
    if (!has_hung_up(self->socket_.native_handle())) return self->watch_hangup();
    self->hung_up_ = true;
    if (self->phase_ != Phase::reading) self->close();  // otherwise what it has sent is read first, up to its end
  });
}

void HttpServer::Connection::await_bytes() {
  socket_.async_wait(UnixSocket::wait_read, [self = shared_from_this()](BoostError error) {
    if (self->phase_ != Phase::reading) return;
    if (error) return self->close();
    self->read_bytes();
  });
}

void HttpServer::Connection::read_bytes() {
  BoostError error;
  const std::size_t count = socket_.read_some(asio::buffer(server_.scratch_), error);
  if (error == asio::error::would_block || error == asio::error::interrupted) return await_bytes();
  if (error) return close();  // the end, too
  proceed(reader_.feed({server_.scratch_.data(), count}));
}

void HttpServer::Connection::proceed(RequestReader::State state) {
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
  if (server_.total_body_bytes_ > server_.options_.max_total_body_bytes)
    return reject(problem(503, "the server is reading too many large requests: retry later"));
  if (reader_.is_idle()) {
    set_deadline(server_.options_.idle_limit);
  } else if (!request_started_) {
    request_started_ = true;
    set_deadline(server_.options_.request_deadline);
  }
  await_bytes();
}

void HttpServer::Connection::count_body(std::size_t bytes) {
  server_.total_body_bytes_ += bytes;
  server_.total_body_bytes_ -= body_bytes_;
  body_bytes_ = bytes;
}

void HttpServer::Connection::dispatch() {
  clear_deadline();
  phase_ = Phase::handling;
  request_started_ = false;
  ++server_.counters_.requests;
  HttpRequest request = reader_.take_request();
  request.peer = peer_;
  if (request.path == "*") return respond({204, {}, {}, {{"Allow", std::string(kAllMethods)}}});
  server_.handler_(std::move(request), Responder(weak_from_this()));
}

void HttpServer::Connection::respond(const HttpResponse& response) {
  if (phase_ != Phase::handling) return;
  phase_ = Phase::responding;
  ResponseFraming framing = reader_.framing();
  if (server_.stopping_) framing.keep_alive = false;
  keep_alive_ = framing.keep_alive;
  set_deadline(server_.options_.response_deadline);
  std::string bytes = format_response_head(response, framing);
  if (!framing.head_only) bytes += response.body;
  enqueue(std::move(bytes));
}

void HttpServer::Connection::reject(const HttpResponse& response) {
  ++server_.counters_.rejected;
  count_body(0);
  phase_ = Phase::responding;
  keep_alive_ = false;
  set_deadline(server_.options_.response_deadline);
  std::string bytes = format_response_head(response, {.keep_alive = false});
  if (!reader_.framing().head_only) bytes += response.body;
  enqueue(std::move(bytes));
}

void HttpServer::Connection::finish_response() {
  if (!keep_alive_ || server_.stopping_) return close();
  phase_ = Phase::reading;
  proceed(reader_.next());
}

bool HttpServer::Connection::open_stream() {
  if (phase_ != Phase::handling) return false;
  phase_ = Phase::streaming;
  keep_alive_ = false;
  enqueue(format_stream_head(reader_.framing()));
  set_deadline(server_.options_.heartbeat_interval);
  if (reader_.framing().head_only || server_.stopping_) end_stream();
  return is_streaming();
}

bool HttpServer::Connection::send_event(std::uint64_t id, std::string_view event, std::string_view data) {
  if (phase_ != Phase::streaming) return false;
  const std::string text = format_event(id, event, data);
  if (buffered_bytes() > 0 && buffered_bytes() + text.size() > server_.options_.max_stream_bytes) {
    ++server_.counters_.slow_streams;
    close();
    return false;
  }
  send_chunk(text);
  return true;
}

void HttpServer::Connection::send_chunk(std::string_view bytes) {
  if (reader_.framing().http_1_0) return enqueue(std::string(bytes));
  std::string chunk;
  chunk.reserve(bytes.size() + 16);
  append_format(chunk, "{:x}\r\n", bytes.size());
  enqueue(chunk.append(bytes).append("\r\n"));
}

void HttpServer::Connection::end_stream() {
  if (phase_ != Phase::streaming) return;
  phase_ = Phase::responding;
  when_drained_ = nullptr;
  set_deadline(server_.options_.response_deadline);
  if (!reader_.framing().http_1_0 && !reader_.framing().head_only) {
    enqueue("0\r\n\r\n");
  } else if (buffered_bytes() == 0) {
    post_drained();
  }
}

void HttpServer::Connection::notify_when_drained(std::function<void()> callback) {
  if (phase_ != Phase::streaming) return;
  when_drained_ = std::move(callback);
  if (buffered_bytes() == 0) post_drained();
}

void HttpServer::Connection::enqueue(std::string bytes) {
  const bool idle = buffered_bytes() == 0;
  if (pending_.empty()) {
    pending_ = std::move(bytes);
  } else {
    pending_ += bytes;
  }
  if (idle) write_some();
}

void HttpServer::Connection::write_some() {
  if (writing_.empty()) writing_.swap(pending_);
  socket_.async_write_some(asio::buffer(writing_.data() + written_, writing_.size() - written_),
                           [self = shared_from_this()](BoostError error, std::size_t count) {
                             if (!self->is_open()) return;
                             if (error) return self->close();
                             self->on_written(count);
                           });
}

void HttpServer::Connection::on_written(std::size_t count) {
  written_ += count;
  if (written_ < writing_.size()) return write_some();
  written_ = 0;
  writing_.clear();
  if (writing_.capacity() > kMaxKeptBytes) writing_.shrink_to_fit();
  if (!pending_.empty()) return write_some();
  on_drained();
}

void HttpServer::Connection::on_drained() {
  if (phase_ == Phase::responding) return finish_response();
  if (phase_ == Phase::streaming && when_drained_) std::exchange(when_drained_, nullptr)();
}

// For what follows the last byte when there is none to write; never calls back before it returns.
void HttpServer::Connection::post_drained() {
  asio::post(server_.io_, [self = shared_from_this()] {
    if (self->is_open() && self->buffered_bytes() == 0) self->on_drained();
  });
}

void HttpServer::Connection::set_deadline(Duration delay) {
  deadline_ = SteadyClock::now() + to_chrono(delay);
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](BoostError error) {
    // A wait that had ended when the deadline was moved comes here without an error.
    if (!error && self->is_open() && SteadyClock::now() >= self->deadline_) self->on_deadline();
  });
}

void HttpServer::Connection::clear_deadline() {
  BoostError ignored;
  timer_.cancel(ignored);
}

void HttpServer::Connection::on_deadline() {
  switch (phase_) {
    case Phase::reading:
      if (reader_.is_idle()) return close();
      return reject(problem(408, "the request took too long to arrive"));
    case Phase::responding:
      return close();
    case Phase::streaming:
      if (buffered_bytes() == 0) send_chunk(kHeartbeat);
      return set_deadline(server_.options_.heartbeat_interval);
    case Phase::handling:
    case Phase::closed:
      return;
  }
}

void HttpServer::Connection::stop() {
  switch (phase_) {
    case Phase::reading:
      return reader_.is_idle() ? close() : reject(problem(503, "the server is stopping"));
    case Phase::streaming:
      return end_stream();
    case Phase::handling:
    case Phase::responding:
    case Phase::closed:
      return;
  }
}

void HttpServer::Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  phase_ = Phase::closed;
  count_body(0);
  when_drained_ = nullptr;
  clear_deadline();
  BoostError ignored;
  socket_.close(ignored);
  server_.remove(self, peer_);
}

Status HttpServer::Impl::open() {
  Result<UnixListener> listener = listen_unix(options_.socket_path, options_.socket_mode);
  if (!listener.ok()) return listener.error();
  listener_ = std::move(*listener);
  BoostError error;
  acceptor_.assign({}, listener_.socket.get(), error);
  if (error) {
    remove_socket_file(listener_);
    return Error{ErrorCode::unavailable, "cannot listen: " + error.message(), options_.socket_path};
  }
  (void)listener_.socket.release();
  await_connections();
  return {};
}

void HttpServer::Impl::await_connections() {
  acceptor_.async_wait(UnixAcceptor::wait_read, [this](BoostError error) {
    if (!error && !stopping_) accept_connections();
  });
}

// accept4(2) and not Asio's accept: the sockets must not be inherited by the processes that weft starts.
void HttpServer::Impl::accept_connections() {
  for (int i = 0; i < kMaxAcceptsAtOnce; ++i) {
    FileDescriptor socket(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.ok()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) break;
      return retry_accepting();
    }
    admit(std::move(socket));
    if (stopping_) return;
  }
  await_connections();
}

// No descriptor or memory left. The connection stays in the queue, so waiting for it again would return at once.
void HttpServer::Impl::retry_accepting() {
  ++counters_.accept_retries;
  (void)start_timer(options_.accept_retry, [this] {
    if (!stopping_) accept_connections();
  });
}

void HttpServer::Impl::admit(FileDescriptor socket) {
  const Peer peer = read_peer(socket.get());
  if (connections_.size() >= options_.max_connections) return refuse(socket, "the server has too many connections");
  std::size_t& count = connections_per_uid_[peer.uid];
  if (count >= options_.max_connections_per_uid) return refuse(socket, "this user has too many connections");
  UnixSocket connected(io_);
  BoostError error;
  connected.assign({}, socket.get(), error);
  if (!error) {
    (void)socket.release();
    connected.non_blocking(true, error);
  }
  if (error) {
    if (count == 0) connections_per_uid_.erase(peer.uid);
    return;
  }
  ++count;
  ++counters_.accepted;
  const auto connection = std::make_shared<Connection>(*this, std::move(connected), peer);
  connections_.insert(connection);
  connection->start();
}

void HttpServer::Impl::refuse(const FileDescriptor& socket, std::string_view why) {
  ++counters_.refused;
  HttpResponse response = problem(503, fmt::format("{}: retry later", why));
  response.headers.emplace_back("Retry-After", "1");
  const std::string bytes = format_response_head(response, {.keep_alive = false}) + response.body;
  // A new socket has space for it.
  (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void HttpServer::Impl::remove(const std::shared_ptr<Connection>& connection, const Peer& peer) {
  connections_.erase(connection);
  const auto found = connections_per_uid_.find(peer.uid);
  if (found != connections_per_uid_.end() && --found->second == 0) connections_per_uid_.erase(found);
}

void HttpServer::Impl::run_for(Duration limit) {
  const auto end = SteadyClock::now() + to_chrono(limit);
  const bool was_stopped = is_stopped();
  interrupted_ = false;
  io_.restart();
  while (!interrupted_ && (was_stopped || !is_stopped()) && io_.run_one_until(end) > 0) {
  }
}

std::size_t HttpServer::Impl::run_once(Duration limit) {
  io_.restart();
  std::size_t count = io_.poll();
  if (count > 0) return count;
  count = io_.run_one_for(to_chrono(limit));
  return count == 0 ? 0 : count + io_.poll();
}

TimerId HttpServer::Impl::start_timer(Duration delay, std::function<void()> callback) {
  const TimerId id = ++last_timer_;
  auto& timer = *timers_.emplace(id, std::make_unique<asio::steady_timer>(io_, to_chrono(delay))).first->second;
  timer.async_wait([this, id, callback = std::move(callback)](BoostError error) {
    // Also ends a timer that was canceled when its wait had already ended.
    if (!error && timers_.erase(id) > 0) callback();
  });
  return id;
}

Status HttpServer::Impl::watch_signals(const std::vector<int>& signals, std::function<void(int)> callback) {
  auto watch = std::make_unique<SignalWatch>(io_);
  watch->callback = std::move(callback);
  for (const int signal : signals) {
    BoostError error;
    watch->set.add(signal, error);
    if (error)
      return Error{ErrorCode::internal, fmt::format("cannot watch signal {}: {}", signal, error.message()), {}};
  }
  await_signal(*watch);
  signals_.push_back(std::move(watch));
  return {};
}

void HttpServer::Impl::await_signal(SignalWatch& watch) {
  watch.set.async_wait([this, &watch](BoostError error, int signal) {
    if (error) return;
    await_signal(watch);
    watch.callback(signal);
  });
}

void HttpServer::Impl::stop() {
  if (stopping_) return;
  stopping_ = true;
  close_listener();
  const std::vector<std::shared_ptr<Connection>> open(connections_.begin(), connections_.end());
  for (const auto& connection : open) connection->stop();
  (void)start_timer(options_.stop_deadline, [this] { close_all(); });
}

void HttpServer::Impl::close_listener() {
  if (!acceptor_.is_open()) return;
  remove_socket_file(listener_);
  BoostError ignored;
  acceptor_.close(ignored);
}

void HttpServer::Impl::close_all() {
  close_listener();
  const std::vector<std::shared_ptr<Connection>> open(connections_.begin(), connections_.end());
  for (const auto& connection : open) connection->close();
}

HttpCounters HttpServer::Impl::counters() const {
  HttpCounters counters = counters_;
  counters.connections = connections_.size();
  return counters;
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpOptions& options, HttpHandler handler) {
  CHECK(handler, "a server has a handler");
  std::unique_ptr<Impl> impl;
  // Asio reports only by an exception that the process has no file descriptor left for epoll.
  try {
    impl = std::make_unique<Impl>(options, std::move(handler));
  } catch (const boost::system::system_error& error) {
    return Error{ErrorCode::unavailable, std::string("cannot create the event loop: ") + error.what(), {}};
  }
  if (Status opened = impl->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::run_for(Duration limit) { impl_->run_for(limit); }
std::size_t HttpServer::run_once(Duration limit) { return impl_->run_once(limit); }
void HttpServer::interrupt() { impl_->interrupted_ = true; }
void HttpServer::post(std::function<void()> callback) { asio::post(impl_->io_, std::move(callback)); }
TimerId HttpServer::run_after(Duration delay, std::function<void()> callback) {
  return impl_->start_timer(delay, std::move(callback));
}
void HttpServer::cancel_timer(TimerId timer) { impl_->timers_.erase(timer); }
Status HttpServer::watch_signals(const std::vector<int>& signals, std::function<void(int)> callback) {
  return impl_->watch_signals(signals, std::move(callback));
}
void HttpServer::stop() { impl_->stop(); }
bool HttpServer::is_stopped() const { return impl_->is_stopped(); }
HttpCounters HttpServer::counters() const { return impl_->counters(); }

}  // namespace weft::serve
