#include "serve/http/server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "serve/http/connection.h"
#include "serve/http/unix_socket.h"

namespace weft::serve {
namespace {

namespace asio = boost::asio;
using BoostError = boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

constexpr int kMaxAcceptsAtOnce = 64;
constexpr std::size_t kOtherDescriptors = 256;  // of the journal, jobs, engines

std::chrono::nanoseconds to_chrono(Duration duration) { return std::chrono::nanoseconds(duration.count()); }

// TCP connections must not use up the descriptors that connections to the Unix socket, and the server's files, need.
std::size_t tcp_limit(const HttpOptions& options) {
  std::size_t limit = options.max_connections - std::min(options.max_connections, options.reserved_for_unix);
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur != RLIM_INFINITY) {
    const std::size_t kept = kOtherDescriptors + options.reserved_for_unix;
    const std::size_t all = descriptors.rlim_cur;
    limit = std::min(limit, all > 2 * kept ? all - kept : all / 2);
  }
  return limit;
}

// Different in every run of the server, so that ids of requests do not repeat in logs.
std::string random_prefix() {
  std::array<unsigned char, 6> bytes{};
  CHECK(::getentropy(bytes.data(), bytes.size()) == 0, "the kernel has random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text + "-";
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpHandler handler)
      : state_(options, std::move(handler)), max_tcp_connections_(tcp_limit(options)) {
    state_.request_prefix = random_prefix();
    state_.on_close = [this](const std::shared_ptr<ServerConnection>& connection) { remove(connection); };
  }
  ~Impl() { close_all(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Status open();
  void run_for(Duration limit);
  std::size_t run_once(Duration limit);
  void stop();
  [[nodiscard]] bool is_stopped() const { return state_.stopping && connections_.empty(); }
  [[nodiscard]] HttpCounters counters() const;
  [[nodiscard]] std::uint16_t port(std::size_t listener) const;

  TimerId start_timer(Duration delay, std::function<void()> callback);
  [[nodiscard]] Status watch_signals(const std::vector<int>& signals, std::function<void(int)> callback);

 private:
  friend class HttpServer;
  struct SignalWatch {
    explicit SignalWatch(asio::io_context& io) : set(io) {}
    asio::signal_set set;
    std::function<void(int)> callback;
  };
  struct Listener {
    Listener(asio::io_context& io, int descriptor, bool local) : socket(io, descriptor), is_local(local) {}
    asio::posix::stream_descriptor socket;
    bool is_local;
    std::uint16_t port = 0;
  };

  [[nodiscard]] Status open_tcp(const TcpListener& address);
  [[nodiscard]] Status listen_on(FileDescriptor socket, bool is_local);
  void await_connections(Listener& listener);
  void accept_connections(Listener& listener);
  void retry_accepting(Listener& listener);
  void admit_local(FileDescriptor socket);
  void admit_remote(FileDescriptor socket, const sockaddr_storage& address);
  void add_connection(FileDescriptor socket, int family, ConnectionOrigin origin, std::unique_ptr<TlsChannel> tls);
  void refuse(const FileDescriptor& socket, std::string_view why);
  void remove(const std::shared_ptr<ServerConnection>& connection);
  void await_signal(SignalWatch& watch);
  void close_listeners();
  void close_all();

  ServerState state_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{state_.io.get_executor()};
  std::unordered_map<TimerId, std::unique_ptr<asio::steady_timer>> timers_;
  bool interrupted_ = false;
  UnixListener unix_listener_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // the Unix socket is the first
  std::unordered_set<std::shared_ptr<ServerConnection>> connections_;
  std::unordered_map<std::uint32_t, std::size_t> connections_per_uid_;
  std::unordered_map<std::string, std::size_t> connections_per_source_;
  std::size_t tcp_connections_ = 0;
  std::size_t max_tcp_connections_;
  std::vector<std::unique_ptr<SignalWatch>> signals_;
  TimerId last_timer_ = 0;
};

Status HttpServer::Impl::open() {
  Result<UnixListener> listener = listen_unix(state_.options.socket_path, state_.options.socket_mode);
  if (!listener.ok()) return listener.error();
  unix_listener_ = std::move(*listener);
  Status opened = listen_on(std::move(unix_listener_.socket), true);
  for (const TcpListener& address : state_.options.listeners) {
    if (opened.ok()) opened = open_tcp(address);
  }
  if (!opened.ok()) close_listeners();
  return opened;
}

Status HttpServer::Impl::open_tcp(const TcpListener& address) {
  Result<FileDescriptor> socket = listen_tcp(address);
  if (!socket.ok()) return socket.error();
  const std::uint16_t port = port_of(socket->get());
  if (Status opened = listen_on(std::move(*socket), false); !opened.ok()) return opened;
  listeners_.back()->port = port;
  return {};
}

Status HttpServer::Impl::listen_on(FileDescriptor socket, bool is_local) {
  // Asio reports only by an exception that it cannot watch the socket.
  try {
    listeners_.push_back(std::make_unique<Listener>(state_.io, socket.get(), is_local));
  } catch (const boost::system::system_error& error) {
    return Error{ErrorCode::unavailable, std::string("cannot listen: ") + error.what(), {}};
  }
  (void)socket.release();
  await_connections(*listeners_.back());
  return {};
}

void HttpServer::Impl::await_connections(Listener& listener) {
  listener.socket.async_wait(asio::posix::stream_descriptor::wait_read, [this, &listener](BoostError error) {
    if (!error && !state_.stopping) accept_connections(listener);
  });
}

// accept4(2) and not Asio's accept: the sockets must not be inherited by the processes that weft starts.
void HttpServer::Impl::accept_connections(Listener& listener) {
  for (int i = 0; i < kMaxAcceptsAtOnce; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
    FileDescriptor socket(::accept4(listener.socket.native_handle(), reinterpret_cast<sockaddr*>(&address), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.ok()) {
      // Errors of a TCP connection that broke before it was accepted are those of its network: accept(2).
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO || errno == ENETDOWN || errno == ENETUNREACH ||
          errno == EHOSTDOWN || errno == EHOSTUNREACH || errno == ENONET || errno == ENOPROTOOPT)
        continue;
      if (errno == EAGAIN) break;
      return retry_accepting(listener);
    }
    if (listener.is_local) {
      admit_local(std::move(socket));
    } else {
      admit_remote(std::move(socket), address);
    }
    if (state_.stopping) return;
  }
  await_connections(listener);
}

// No descriptor or memory left. The connection stays in the queue, so waiting for it again would return at once.
void HttpServer::Impl::retry_accepting(Listener& listener) {
  ++state_.counters.accept_retries;
  (void)start_timer(state_.options.accept_retry, [this, &listener] {
    if (!state_.stopping) accept_connections(listener);
  });
}

void HttpServer::Impl::admit_local(FileDescriptor socket) {
  const Peer peer = read_peer(socket.get());
  if (connections_.size() >= state_.options.max_connections)
    return refuse(socket, "the server has too many connections");
  const auto found = connections_per_uid_.find(peer.uid);
  if ((found == connections_per_uid_.end() ? 0 : found->second) >= state_.options.max_connections_per_uid)
    return refuse(socket, "this user has too many connections");
  add_connection(std::move(socket), AF_UNIX, {true, peer, {}, {}}, nullptr);
}

// A client that is refused gets no answer: it would have to be encrypted first.
void HttpServer::Impl::admit_remote(FileDescriptor socket, const sockaddr_storage& address) {
  // No process: a handler that mistook the peer for one of the Unix socket must not find root in it.
  constexpr Peer kNoPeer{UINT32_MAX, UINT32_MAX, -1};
  RemoteAddress remote = read_address(address);
  if (tcp_connections_ >= max_tcp_connections_) {
    ++state_.counters.refused;
    return;
  }
  const auto found = connections_per_source_.find(remote.source);
  if ((found == connections_per_source_.end() ? 0 : found->second) >= state_.options.max_connections_per_source) {
    ++state_.counters.refused;
    ++state_.counters.source_refused;
    return;
  }
  std::unique_ptr<TlsChannel> tls = state_.options.tls->open();
  if (tls == nullptr) return;
  tune_connection(socket.get());
  add_connection(std::move(socket), address.ss_family,
                 {false, kNoPeer, std::move(remote.text), std::move(remote.source)}, std::move(tls));
}

void HttpServer::Impl::add_connection(FileDescriptor socket, int family, ConnectionOrigin origin,
                                      std::unique_ptr<TlsChannel> tls) {
  ServerConnection::Socket connected(state_.io);
  BoostError error;
  connected.assign(asio::generic::stream_protocol(family, 0), socket.get(), error);
  if (error) return;
  (void)socket.release();
  connected.non_blocking(true, error);
  if (error) return;
  if (origin.is_local) {
    ++connections_per_uid_[origin.peer.uid];
  } else {
    ++connections_per_source_[origin.source];
    ++tcp_connections_;
  }
  ++state_.counters.accepted;
  const auto connection =
      std::make_shared<ServerConnection>(state_, std::move(connected), std::move(origin), std::move(tls));
  connections_.insert(connection);
  connection->start();
}

void HttpServer::Impl::refuse(const FileDescriptor& socket, std::string_view why) {
  ++state_.counters.refused;
  HttpResponse response = problem(503, fmt::format("{}: retry later", why));
  response.headers.emplace_back("Retry-After", "1");
  const std::string bytes = format_response_head(response, {.keep_alive = false}) + response.body;
  // A new socket has space for it.
  (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void HttpServer::Impl::remove(const std::shared_ptr<ServerConnection>& connection) {
  const auto release = [](auto& counts, const auto& key) {
    const auto found = counts.find(key);
    if (found != counts.end() && --found->second == 0) counts.erase(found);
  };
  const ConnectionOrigin& origin = connection->origin();
  if (connections_.erase(connection) == 0) return;
  if (origin.is_local) {
    release(connections_per_uid_, origin.peer.uid);
  } else {
    release(connections_per_source_, origin.source);
    --tcp_connections_;
  }
}

void HttpServer::Impl::run_for(Duration limit) {
  const auto end = SteadyClock::now() + to_chrono(limit);
  const bool was_stopped = is_stopped();
  interrupted_ = false;
  state_.io.restart();
  while (!interrupted_ && (was_stopped || !is_stopped()) && state_.io.run_one_until(end) > 0) {
  }
}

std::size_t HttpServer::Impl::run_once(Duration limit) {
  state_.io.restart();
  std::size_t count = state_.io.poll();
  if (count > 0) return count;
  count = state_.io.run_one_for(to_chrono(limit));
  return count == 0 ? 0 : count + state_.io.poll();
}

TimerId HttpServer::Impl::start_timer(Duration delay, std::function<void()> callback) {
  const TimerId id = ++last_timer_;
  auto& timer = *timers_.emplace(id, std::make_unique<asio::steady_timer>(state_.io, to_chrono(delay))).first->second;
  timer.async_wait([this, id, callback = std::move(callback)](BoostError error) {
    // Also ends a timer that was canceled when its wait had already ended.
    if (!error && timers_.erase(id) > 0) callback();
  });
  return id;
}

Status HttpServer::Impl::watch_signals(const std::vector<int>& signals, std::function<void(int)> callback) {
  auto watch = std::make_unique<SignalWatch>(state_.io);
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
  if (state_.stopping) return;
  state_.stopping = true;
  close_listeners();
  const std::vector<std::shared_ptr<ServerConnection>> open(connections_.begin(), connections_.end());
  for (const auto& connection : open) connection->stop();
  (void)start_timer(state_.options.stop_deadline, [this] { close_all(); });
}

void HttpServer::Impl::close_listeners() {
  if (unix_listener_.inode != 0) remove_socket_file(unix_listener_);
  unix_listener_ = {};
  for (const auto& listener : listeners_) {
    BoostError ignored;
    listener->socket.close(ignored);
  }
}

void HttpServer::Impl::close_all() {
  close_listeners();
  const std::vector<std::shared_ptr<ServerConnection>> open(connections_.begin(), connections_.end());
  for (const auto& connection : open) connection->close();
}

std::uint16_t HttpServer::Impl::port(std::size_t listener) const {
  return listener + 1 < listeners_.size() ? listeners_[listener + 1]->port : 0;
}

HttpCounters HttpServer::Impl::counters() const {
  HttpCounters counters = state_.counters;
  counters.connections = connections_.size();
  return counters;
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpOptions& options, HttpHandler handler) {
  CHECK(handler, "a server has a handler");
  CHECK(options.listeners.empty() || options.tls != nullptr, "TCP has TLS");
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
void HttpServer::post(std::function<void()> callback) { asio::post(impl_->state_.io, std::move(callback)); }
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
std::uint16_t HttpServer::port(std::size_t listener) const { return impl_->port(listener); }

}  // namespace weft::serve
