#include "serve/http/tcp_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "base/ip.h"

namespace weft::serve {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<SocketAddress> socket_address(const TcpListener& listener) {
  SocketAddress out;
  if (const Result<Ipv4> parsed = parse_ipv4(listener.address); parsed.ok()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(listener.port);
    address.sin_addr.s_addr = htonl(parsed->bits);
    std::memcpy(&out.storage, &address, out.size = sizeof address);
    return out;
  }
  const Result<Ipv6> parsed = parse_ipv6(listener.address);
  if (!parsed.ok())
    return Error{ErrorCode::invalid_input, "the address to listen on is neither IPv4 nor IPv6", listener.address};
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(listener.port);
  for (std::size_t i = 0; i < 8; ++i) {
    const std::uint16_t group = htons(parsed->groups[i]);
    std::memcpy(&address.sin6_addr.s6_addr[i * 2], &group, sizeof group);
  }
  std::memcpy(&out.storage, &address, out.size = sizeof address);
  return out;
}

Error listen_error(int code, const TcpListener& listener) {
  if (code == EADDRINUSE)
    return {ErrorCode::conflict, fmt::format("another program is listening on {}", to_text(listener)), {}};
  const ErrorCode kind = code == EACCES ? ErrorCode::refused : ErrorCode::unavailable;
  return {kind, fmt::format("cannot listen: {}", std::generic_category().message(code)), to_text(listener)};
}

bool set_option(int socket, int level, int option, int value) {
  return ::setsockopt(socket, level, option, &value, sizeof value) == 0;
}

}  // namespace

std::string to_text(const TcpListener& listener) {
  const bool has_colon = listener.address.find(':') != std::string::npos;
  return has_colon ? fmt::format("[{}]:{}", listener.address, listener.port)
                   : fmt::format("{}:{}", listener.address, listener.port);
}

Result<FileDescriptor> listen_tcp(const TcpListener& listener) {
  const Result<SocketAddress> address = socket_address(listener);
  if (!address.ok()) return address.error();
  const int family = address->storage.ss_family;
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.ok()) return listen_error(errno, listener);
  if (!set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1)) return listen_error(errno, listener);
  if (family == AF_INET6 && !set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1))
    return listen_error(errno, listener);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return listen_error(errno, listener);
  return socket;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  std::uint16_t port = 0;  // at the same place in both families
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
  std::memcpy(&port, reinterpret_cast<const char*>(&storage) + offsetof(sockaddr_in, sin_port), sizeof port);
  return ntohs(port);
}

RemoteAddress read_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    const std::string text = to_text(Ipv4{ntohl(v4.sin_addr.s_addr)});
    return {text, text};
  }
  if (address.ss_family != AF_INET6) return {"unknown", "unknown"};
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  Ipv6 ip;
  for (std::size_t i = 0; i < 8; ++i) {
    ip.groups[i] = static_cast<std::uint16_t>(v6.sin6_addr.s6_addr[i * 2] * 256U + v6.sin6_addr.s6_addr[i * 2 + 1]);
  }
  constexpr std::array<std::uint16_t, 6> kMapped{0, 0, 0, 0, 0, 0xFFFF};  // RFC 4291 section 2.5.5.2
  if (std::equal(kMapped.begin(), kMapped.end(), ip.groups.begin())) {
    const std::string text = to_text(Ipv4{ip.groups[6] * 65536U + ip.groups[7]});
    return {text, text};
  }
  Ipv6 prefix = ip;
  std::fill(prefix.groups.begin() + 4, prefix.groups.end(), std::uint16_t{0});
  return {to_text(ip), to_text(Ipv6Prefix{prefix, 64})};
}

void tune_connection(int socket) {
  constexpr int kVanishedMs = 60'000;
  (void)set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  (void)set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kVanishedMs);
  (void)set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

}  // namespace weft::serve
