#include "bmcsim/server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/check.h"
#include "lazy/crypto.h"

namespace weft::bmcsim {
namespace {

constexpr int kListening = -1;
constexpr std::uint32_t kNobody = 0xFFFFFFFFU;
constexpr int kMaxEvents = 256;
constexpr int kMaxSteps = 64;          // of one connection before others are served
constexpr std::size_t kChunk = 16384;  // one TLS record (RFC 8446 section 5.1)
constexpr Duration kHandshakeLimit = milliseconds(15'000);
constexpr Duration kIdleLimit = milliseconds(120'000);  // of a kept-alive connection, and of one that accepts no bytes
constexpr Duration kSweepEvery = milliseconds(1'000);
constexpr Duration kDrainLimit = milliseconds(2'000);  // for a client to read the rejection
constexpr Duration kPause = milliseconds(50);          // before accepting again after running out of descriptors
constexpr Duration kEndlessPause = milliseconds(1);    // 16 KiB per millisecond: endless, but does not saturate a core

// The epoll user data: a socket and the serial number of its connection.
std::uint64_t tag_of(int socket, std::uint64_t serial) { return (serial << 32U) | static_cast<std::uint32_t>(socket); }
int socket_in(std::uint64_t tag) { return static_cast<int>(tag & 0xFFFFFFFFU); }

}  // namespace

SimServer::SimServer(SimWorld& world, std::vector<SimBmc>& bmcs, std::mutex& mutex, oob::Clock& clock, SimTls* tls)
    : world_(world), bmcs_(bmcs), mutex_(mutex), clock_(clock), tls_(tls) {
  for (std::uint32_t i = 0; i < world_.devices.size(); ++i) {
    const std::uint32_t offset = world_.devices[i].offset;
    if (by_offset_.size() <= offset) by_offset_.resize(std::size_t{offset} + 1, kNobody);
    by_offset_[offset] = i;
  }
}

SimServer::~SimServer() {
  while (!connections_.empty()) close(*connections_.begin()->second);
  for (const int descriptor : {epoll_, wake_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

Status SimServer::open(std::uint16_t port) {
  if (Status opened = listener_.open(port); !opened.ok()) return opened;
  world_.port = listener_.port();
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (epoll_ < 0 || wake_ < 0) {
    return Error{
        ErrorCode::unavailable, fmt::format("cannot wait for clients: {}", std::generic_category().message(errno)), {}};
  }
  for (const int descriptor : {listener_.descriptor(), wake_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag_of(descriptor, 0);
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
  }
  faults_changed();
  return {};
}

void SimServer::stop() {
  stopping_ = true;
  wake();
}

void SimServer::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

// Passes the currently silent addresses to the kernel.
void SimServer::faults_changed() {
  std::vector<std::pair<Ipv4, Ipv4>> ranges;
  for (std::size_t offset = 0; offset < by_offset_.size(); ++offset) {
    if (by_offset_[offset] == kNobody) continue;
    const FaultSet& faults = bmcs_[by_offset_[offset]].faults();
    if (!faults.has(FaultKind::dead) || faults.argument(FaultKind::dead) != kDeadSilent) continue;
    const Ipv4 address{world_.options.base.bits + static_cast<std::uint32_t>(offset)};
    if (!ranges.empty() && ranges.back().second.bits + 1 == address.bits) {
      ranges.back().second = address;
    } else {
      ranges.emplace_back(address, address);
    }
  }
  if (!listener_.silence(ranges)) (void)listener_.silence({});  // greet() then keeps them mute
}

void SimServer::serve() {
  // A closed client connection must not kill the process; SSL_write has no MSG_NOSIGNAL.
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  std::array<epoll_event, kMaxEvents> events{};
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_, events.data(), kMaxEvents, next_wait(clock_.now()));
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const int descriptor = socket_in(event.data.u64);
      std::uint64_t calls = 0;
      if (descriptor == wake_) (void)!::read(wake_, &calls, sizeof calls);
      if (descriptor == listener_.descriptor()) take_callers();
      const auto found = connections_.find(descriptor);
      // The descriptor of a closed connection may already be reused.
      if (found == connections_.end() || tag_of(descriptor, found->second->serial) != event.data.u64) continue;
      Connection& connection = *found->second;
      const bool over = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
      if (connection.phase == Phase::mute || (over && connection.phase != Phase::thinking)) {
        close(connection);
      } else if (connection.phase != Phase::thinking) {
        drive(connection);
      } else if (over) {
        // The client closed; the request is still executed. Its socket would wake epoll repeatedly.
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.socket, nullptr);
        connection.watched = kNobody;
      }
    }
    fire_timers(clock_.now());
    serve_pending_streams();
  }
  const std::lock_guard lock(mutex_);
  while (!connections_.empty()) {
    Connection& connection = *connections_.begin()->second;
    connection.phase == Phase::streaming ? end_stream(connection) : close(connection);
  }
  timespec at_once{};
  sigtimedwait(&pipe, nullptr, &at_once);  // consumes a pending signal, so it is not delivered when unblocked
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int SimServer::next_wait(Duration now) const {
  Duration until = kSweepEvery;
  if (!timers_.empty()) until = std::min(until, timers_.top().when - now);
  // Rounded up: too short a timeout would only cause another wait.
  return static_cast<int>(std::clamp<std::int64_t>((until.count() + 999'999) / 1'000'000, 0, 1000));
}

void SimServer::at(Duration when, const Connection& connection) {
  timers_.push({when, connection.socket, connection.serial});
}

void SimServer::fire_timers(Duration now) {
  while (!timers_.empty() && timers_.top().when <= now) {
    const Timer timer = timers_.top();
    timers_.pop();
    if (timer.socket == kListening) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = tag_of(listener_.descriptor(), 0);
      ::epoll_ctl(epoll_, EPOLL_CTL_MOD, listener_.descriptor(), &event);
      continue;
    }
    const auto found = connections_.find(timer.socket);
    if (found == connections_.end() || found->second->serial != timer.serial) continue;
    Connection& connection = *found->second;
    if (connection.phase == Phase::streaming && timer.when != connection.due) continue;  // there is a later one
    if (connection.phase == Phase::thinking && (now < connection.due || answer(connection) == Moved::gone)) continue;
    drive(connection);
  }
  if (now >= next_sweep_) sweep(now);
}

void SimServer::sweep(Duration now) {
  next_sweep_ = now + kSweepEvery;
  std::vector<Connection*> old;
  for (const auto& [socket, connection] : connections_) {
    const Duration limit = connection->phase == Phase::handshake ? kHandshakeLimit : kIdleLimit;
    const bool waits = connection->phase == Phase::thinking || connection->phase == Phase::mute;
    if (!waits && now - connection->last_active > limit) old.push_back(connection.get());
  }
  for (Connection* connection : old) close(*connection);
}

void SimServer::take_callers() {
  for (int i = 0; i < kMaxSteps; ++i) {
    const SimListener::Caller caller = listener_.accept();
    if (caller.full) {
      // New connections wait in the kernel's queue until a descriptor is free.
      epoll_event event{};
      event.data.u64 = tag_of(listener_.descriptor(), 0);
      ::epoll_ctl(epoll_, EPOLL_CTL_MOD, listener_.descriptor(), &event);
      timers_.push({clock_.now() + kPause, kListening, 0});
    }
    if (caller.socket < 0) return;
    greet(caller);
  }
}

void SimServer::greet(const SimListener::Caller& caller) {
  const Duration now = clock_.now();
  const std::uint32_t offset = caller.address.bits - world_.options.base.bits;
  const std::uint32_t device = offset < by_offset_.size() ? by_offset_[offset] : kNobody;
  auto made = std::make_unique<Connection>();
  Connection& connection = *made;
  connection.socket = caller.socket;
  connection.bmc = device;
  connection.serial = next_serial_++;
  connection.last_active = now;
  connection.watched = kNobody;
  connections_[caller.socket] = std::move(made);
  if (device == kNobody) return close(connection, true);
  SimBmc& bmc = bmcs_[device];
  const FaultSet& faults = bmc.faults();
  const bool dead = faults.has(FaultKind::dead);
  if (bmc.away(now) || (dead && faults.argument(FaultKind::dead) == kDeadReset)) return close(connection, true);
  ++bmc.counters.connections;
  if (dead) {
    connection.phase = Phase::mute;
    return watch(connection, EPOLLRDHUP);
  }
  if (tls_ == nullptr) {
    connection.phase = Phase::reading;
    return drive(connection);
  }
  connection.choice = {tls_, caller.address, SimCertificate::right};
  if (faults.has(FaultKind::expired_certificate)) connection.choice.certificate = SimCertificate::expired;
  if (faults.has(FaultKind::wrong_certificate)) {
    const bool misnamed = faults.argument(FaultKind::wrong_certificate) == kCertificateMisnamed;
    connection.choice.certificate = misnamed ? SimCertificate::other_name : SimCertificate::other_authority;
  }
  connection.ssl = tls_->open(connection.socket, &connection.choice);
  if (connection.ssl == nullptr) return close(connection, true);
  drive(connection);
}

void SimServer::watch(Connection& connection, std::uint32_t events) {
  if (connection.watched == events) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag_of(connection.socket, connection.serial);
  const int what = connection.watched == kNobody ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  connection.watched = events;
  ::epoll_ctl(epoll_, what, connection.socket, &event);
}

void SimServer::close(Connection& connection, bool reset) {
  if (connection.in_flight) --bmc_of(connection).counters.in_flight;
  if (connection.stream) forget_stream(connection);
  if (connection.ssl != nullptr) {
    // Only an established connection sends close_notify; an earlier error leaves entries in OpenSSL's error queue.
    const bool said = connection.phase == Phase::handshake || connection.phase == Phase::draining;
    if (!reset && !said) SSL_shutdown(connection.ssl);
    SSL_free(connection.ssl);
    ERR_clear_error();
  }
  if (reset) {
    const linger at_once{1, 0};
    (void)::setsockopt(connection.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::close(connection.socket);
  connections_.erase(connection.socket);
}

void SimServer::drive(Connection& connection) {
  // A stream is active while its client reads.
  if (connection.phase != Phase::streaming) connection.last_active = clock_.now();
  for (int step = 0; step < kMaxSteps; ++step) {
    Moved moved = Moved::waits;
    if (connection.phase == Phase::handshake) {
      moved = shake_hands(connection);
    } else if (connection.phase == Phase::reading) {
      moved = read(connection);
    } else if (connection.phase == Phase::writing) {
      moved = write(connection);
    } else if (connection.phase == Phase::streaming) {
      moved = stream(connection);
    } else if (connection.phase == Phase::draining) {
      moved = drain(connection);
    }
    if (moved != Moved::on) return;
  }
  at(clock_.now(), connection);  // let other connections run first
}

SimServer::Moved SimServer::shake_hands(Connection& connection) {
  ERR_clear_error();
  const int done = SSL_accept(connection.ssl);
  if (done == 1) {
    connection.phase = Phase::reading;
    return Moved::on;
  }
  const int why = SSL_get_error(connection.ssl, done);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
    watch(connection, why == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
    return Moved::waits;
  }
  close(connection);
  return Moved::gone;
}

int SimServer::receive(Connection& connection, char* into, int most) {
  if (connection.ssl == nullptr) {
    const ssize_t got = ::recv(connection.socket, into, static_cast<std::size_t>(most), 0);
    if (got > 0) return static_cast<int>(got);
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return -1;
    watch(connection, EPOLLIN);
    return 0;
  }
  ERR_clear_error();
  const int got = SSL_read(connection.ssl, into, most);
  if (got > 0) return got;
  const int why = SSL_get_error(connection.ssl, got);
  if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return -1;
  watch(connection, why == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
  return 0;
}

int SimServer::send(Connection& connection, const char* from, std::size_t size) {
  size = std::min<std::size_t>(size, 1U << 20U);
  if (connection.ssl == nullptr) {
    const ssize_t put = ::send(connection.socket, from, size, MSG_NOSIGNAL);
    if (put > 0) return static_cast<int>(put);
    if (put < 0 && errno != EAGAIN && errno != EINTR) return -1;
    watch(connection, EPOLLOUT);
    return 0;
  }
  ERR_clear_error();
  const int put = SSL_write(connection.ssl, from, static_cast<int>(size));
  if (put > 0) return put;
  const int why = SSL_get_error(connection.ssl, put);
  if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return -1;
  watch(connection, why == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
  return 0;
}

SimServer::Moved SimServer::read(Connection& connection) {
  std::array<char, kChunk> bytes{};
  const int got = receive(connection, bytes.data(), static_cast<int>(bytes.size()));
  if (got < 0) {
    close(connection);
    return Moved::gone;
  }
  if (got == 0) {
    connection.reader.release();
    return Moved::waits;
  }
  return after_read(connection, connection.reader.feed({bytes.data(), static_cast<std::size_t>(got)}));
}

SimServer::Moved SimServer::after_read(Connection& connection, HttpReader::State state) {
  switch (state) {
    case HttpReader::State::more:
      connection.phase = Phase::reading;
      return Moved::on;
    case HttpReader::State::go_on:
      connection.out = "HTTP/1.1 100 Continue\r\n\r\n";
      connection.sent = 0;
      connection.shape = ReplyShape::whole;
      connection.phase = Phase::writing;
      return Moved::on;
    case HttpReader::State::complete:
      return think(connection);
    case HttpReader::State::bad:
      break;
  }
  connection.out = to_wire(sim_bad_request(connection.reader.status()), true, false, world_.wall_ms(clock_.now()));
  connection.sent = 0;
  connection.shape = ReplyShape::whole;
  connection.close_after = true;
  connection.refused = true;
  connection.phase = Phase::writing;
  return Moved::on;
}

// A request is complete; its response is due after the BMC's latency.
SimServer::Moved SimServer::think(Connection& connection) {
  SimBmc& bmc = bmc_of(connection);
  SimCounters& counters = bmc.counters;
  ++counters.requests;
  connection.in_flight = true;
  counters.most_in_flight = std::max(counters.most_in_flight, ++counters.in_flight);
  Duration latency;
  if (world_.options.latency.count() > 0) latency += bmc.drawn(world_.options.latency);
  if (bmc.has(FaultKind::slow)) latency += bmc.faults().time(FaultKind::slow);
  connection.phase = Phase::thinking;
  connection.due = Duration();
  if (latency == Duration()) return answer(connection);
  watch(connection, 0);
  connection.due = clock_.now() + latency;
  at(connection.due, connection);
  return Moved::waits;
}

SimServer::Moved SimServer::answer(Connection& connection) {
  SimBmc& bmc = bmc_of(connection);
  const Duration now = clock_.now();
  if (bmc.away(now)) {
    close(connection, true);
    return Moved::gone;
  }
  bmc.advance(now);
  const SimHttpRequest& request = connection.reader.request();
  const SimReply reply = sim_answer(bmc, request);
  if (reply.stream) return begin_stream(connection, reply);
  const bool has_body = request.method != HttpMethod::head;
  connection.shape = reply.shape;
  connection.close_after = !request.keep_alive || reply.shape == ReplyShape::truncated;
  connection.out = to_wire(reply, has_body, !connection.close_after, world_.wall_ms(now));
  connection.sent = 0;
  const std::size_t head = connection.out.size() - (has_body ? reply.body.size() : 0);
  if (reply.shape == ReplyShape::truncated) connection.out.resize(head + (connection.out.size() - head) / 2);
  if (reply.shape == ReplyShape::endless_body) {
    connection.out =
        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nConnection: close\r\n\r\n{{\"x\":\"", reply.content_type);
  }
  if (reply.shape == ReplyShape::endless_headers) connection.out = "HTTP/1.1 200 OK\r\n";
  connection.phase = Phase::writing;
  if (connection.watched == kNobody) watch(connection, EPOLLOUT);
  return Moved::on;
}

SimServer::Moved SimServer::write(Connection& connection) {
  if (connection.shape != ReplyShape::whole && connection.shape != ReplyShape::truncated)
    return write_strange(connection);
  while (connection.sent < connection.out.size()) {
    const int put = send(connection, connection.out.data() + connection.sent, connection.out.size() - connection.sent);
    if (put == 0) return Moved::waits;
    if (put < 0) {
      close(connection);
      return Moved::gone;
    }
    connection.sent += static_cast<std::size_t>(put);
  }
  return answered(connection);
}

// One byte at a time, or without end.
SimServer::Moved SimServer::write_strange(Connection& connection) {
  const bool trickles = connection.shape == ReplyShape::trickle;
  if (connection.sent == connection.out.size()) {
    if (trickles) return answered(connection);
    connection.sent = 0;
    connection.out.clear();
    while (connection.out.size() < kChunk) {
      connection.out += connection.shape == ReplyShape::endless_headers
                            ? fmt::format("X-Filler-{}: {}\r\n", connection.out.size(), std::string(200, 'f'))
                            : std::string(kChunk, 'x');
    }
  }
  const std::size_t size = trickles ? 1 : connection.out.size() - connection.sent;
  const int put = send(connection, connection.out.data() + connection.sent, size);
  if (put < 0) {
    close(connection);
    return Moved::gone;
  }
  if (put == 0) return Moved::waits;
  connection.sent += static_cast<std::size_t>(put);
  watch(connection, 0);
  at(clock_.now() + (trickles ? bmc_of(connection).faults().time(FaultKind::slow_trickle) : kEndlessPause), connection);
  return Moved::waits;
}

SimServer::Moved SimServer::answered(Connection& connection) {
  std::string().swap(connection.out);
  connection.sent = 0;
  if (connection.refused) {
    if (connection.ssl != nullptr) SSL_shutdown(connection.ssl);
    ::shutdown(connection.socket, SHUT_WR);
    connection.phase = Phase::draining;
    connection.due = clock_.now() + kDrainLimit;
    at(connection.due, connection);
    return Moved::on;
  }
  if (connection.close_after) {
    close(connection);
    return Moved::gone;
  }
  connection.shape = ReplyShape::whole;
  if (!connection.in_flight) {  // it was "100 Continue"
    connection.phase = Phase::reading;
    return Moved::on;
  }
  connection.in_flight = false;
  --bmc_of(connection).counters.in_flight;
  return after_read(connection, connection.reader.next());
}

// Closing while the client still sends would reset the connection, and the client could lose a response that it has not
// read yet (RFC 9112, section 9.6).
SimServer::Moved SimServer::drain(Connection& connection) {
  std::array<char, kChunk> unread{};
  const ssize_t got = ::recv(connection.socket, unread.data(), unread.size(), 0);
  const bool waits = got < 0 && (errno == EAGAIN || errno == EINTR);
  if ((got <= 0 && !waits) || clock_.now() >= connection.due) {
    close(connection);
    return Moved::gone;
  }
  if (got > 0) return Moved::on;
  watch(connection, EPOLLIN);
  return Moved::waits;
}

}  // namespace weft::bmcsim
