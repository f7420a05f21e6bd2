#include "oob/ipmi/relay.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/socket.h"

namespace weft::oob {
namespace {

constexpr int kStopLatency = 20;  // milliseconds until a stop is noticed

Error failed(const std::string& device, int number) {
  return {ErrorCode::unavailable, fmt::format("cannot open a socket: {}", std::generic_category().message(number)),
          device};
}

}  // namespace

Result<std::unique_ptr<IpmiRelay>> IpmiRelay::open(const std::string& host, std::uint16_t port,
                                                   const std::string& device) {
  const Lookup found = look_up_host(host, port, SOCK_DGRAM);
  if (found.error != 0) return failed(device, EHOSTUNREACH);
  Connection outside = connect_socket(*found.list, Deadline());  // UDP: connect() does not block
  if (!outside.ok()) return failed(device, outside.error);
  FileDescriptor inside(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket interface is made so
  auto* generic = reinterpret_cast<sockaddr*>(&own);
  if (!inside.ok() || ::bind(inside.get(), generic, size) != 0 || ::getsockname(inside.get(), generic, &size) != 0)
    return failed(device, errno);
  std::unique_ptr<IpmiRelay> relay(new IpmiRelay(std::move(inside), std::move(outside.socket), ntohs(own.sin_port)));
  try {
    relay->thread_ = std::thread([raw = relay.get()] { raw->run(); });
  } catch (const std::system_error&) {
    return Error{ErrorCode::unavailable, "cannot start a thread", device};
  }
  return relay;
}

IpmiRelay::IpmiRelay(FileDescriptor inside, FileDescriptor outside, std::uint16_t port)
    : inside_(std::move(inside)), outside_(std::move(outside)), port_(port) {}

IpmiRelay::~IpmiRelay() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void IpmiRelay::arm() {
  const std::lock_guard<std::mutex> lock(door_);
  left_ = 1;
}

void IpmiRelay::disarm() {
  const std::lock_guard<std::mutex> lock(door_);
  std::array<char, 2048> bytes{};
  while (::recv(inside_.get(), bytes.data(), bytes.size(), 0) >= 0) {
  }
  left_ = kOpen;
}

void IpmiRelay::pass_outwards() {
  const std::lock_guard<std::mutex> lock(door_);
  std::array<char, 2048> bytes{};
  sockaddr_in from{};
  socklen_t size = sizeof from;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  const ssize_t got =
      ::recvfrom(inside_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (got < 0) return;
  if (!known_) client_ = from;
  known_ = true;
  if (from.sin_port != client_.sin_port || from.sin_addr.s_addr != client_.sin_addr.s_addr || left_ == 0) return;
  if (left_ > 0) --left_;
  (void)::send(outside_.get(), bytes.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
}

void IpmiRelay::pass_inwards() {
  std::array<char, 2048> bytes{};
  const ssize_t got = ::recv(outside_.get(), bytes.data(), bytes.size(), 0);
  if (got < 0 || !known_) return;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  const auto* to = reinterpret_cast<const sockaddr*>(&client_);
  (void)::sendto(inside_.get(), bytes.data(), static_cast<std::size_t>(got), 0, to, sizeof client_);
}

void IpmiRelay::run() {
  while (!stop_.load()) {
    std::array<pollfd, 2> wait{pollfd{inside_.get(), POLLIN, 0}, pollfd{outside_.get(), POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), kStopLatency) <= 0) continue;
    if (wait[0].revents != 0) pass_outwards();
    if (wait[1].revents != 0) pass_inwards();
  }
}

}  // namespace weft::oob
