#include "bmcsim/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace weft::bmcsim {
namespace {

constexpr std::uint32_t kLoopbackNetwork = 127U << 24U;
constexpr std::uint32_t kLoopbackMask = 255U << 24U;

Error socket_error(std::string_view what, std::uint16_t port) {
  const ErrorCode code = errno == EADDRINUSE ? ErrorCode::conflict : ErrorCode::unavailable;
  return {code, fmt::format("cannot {}: {}", what, std::generic_category().message(errno)),
          fmt::format("port {}", port)};
}

sock_filter instruction(unsigned code, std::uint32_t k, unsigned if_true = 0, unsigned if_false = 0) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true), static_cast<std::uint8_t>(if_false), k};
}

}  // namespace

SimListener::~SimListener() {
  if (socket_ >= 0) ::close(socket_);
}

Status SimListener::open(std::uint16_t port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return socket_error("make a socket", port);
  const int on = 1;
  (void)::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // If this is not permitted, accept() still rejects connections to non-loopback addresses.
  (void)::setsockopt(socket_, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, any, sizeof address) != 0) return socket_error("bind", port);
  (void)silence({});
  // The kernel caps it at net.core.somaxconn.
  if (::listen(socket_, 65535) != 0) return socket_error("listen", port);
  socklen_t size = sizeof address;
  if (::getsockname(socket_, any, &size) != 0) return socket_error("learn the port", port);
  port_ = ntohs(address.sin_port);
  return {};
}

SimListener::Caller SimListener::accept() const {
  while (true) {
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return {-1, {}, errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM};
    }
    sockaddr_in address{};
    socklen_t size = sizeof address;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
    const bool known = ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    const Ipv4 called{ntohl(address.sin_addr.s_addr)};
    if (!known || (called.bits & kLoopbackMask) != kLoopbackNetwork) {
      ::close(socket);
      continue;
    }
    const int on = 1;
    (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {socket, called, false};
  }
}

// Classic BPF on the listening socket filters SYNs before the kernel answers them.
bool SimListener::silence(const std::vector<std::pair<Ipv4, Ipv4>>& ranges) const {
  std::vector<sock_filter> program;
  program.reserve(ranges.size() * 3 + 5);
  // The destination address is at byte 16 of the IPv4 header (RFC 791).
  program.push_back(instruction(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_NET_OFF + 16)));
  program.push_back(instruction(BPF_JMP | BPF_JGE | BPF_K, kLoopbackNetwork, 0, 1));
  program.push_back(instruction(BPF_JMP | BPF_JGT | BPF_K, kLoopbackNetwork | ~kLoopbackMask, 0, 1));
  program.push_back(instruction(BPF_RET | BPF_K, 0));
  for (const auto& [first, last] : ranges) {
    program.push_back(instruction(BPF_JMP | BPF_JGE | BPF_K, first.bits, 0, 2));
    program.push_back(instruction(BPF_JMP | BPF_JGT | BPF_K, last.bits, 1, 0));
    program.push_back(instruction(BPF_RET | BPF_K, 0));
  }
  program.push_back(instruction(BPF_RET | BPF_K, 0xFFFFFFFFU));
  if (program.size() > BPF_MAXINSNS) return false;
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};  // NOLINT(google-runtime-int)
  return ::setsockopt(socket_, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

}  // namespace weft::bmcsim
