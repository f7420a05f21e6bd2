// TCP sockets of the server: listening on an address, and where a connection comes from. TLS and HTTP are elsewhere.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace weft::serve {

struct TcpListener {
  std::string address = "127.0.0.1";  // IPv4 or IPv6; "::" is every IPv6 address, and no IPv4 one
  std::uint16_t port = 0;             // 0: any free one
};

// Non-blocking. `conflict` if another program listens there.
[[nodiscard]] Result<FileDescriptor> listen_tcp(const TcpListener& listener);
// The port that a listening socket has; 0 if it has none.
[[nodiscard]] std::uint16_t port_of(int socket);
// "127.0.0.1:8443", "[::1]:8443".
[[nodiscard]] std::string to_text(const TcpListener& listener);

struct RemoteAddress {
  std::string text;    // "192.0.2.7", "2001:db8::7"; an IPv4 address that came mapped into IPv6 is an IPv4 address
  std::string source;  // what connections are counted by: the same for IPv4, the /64 prefix for IPv6
};
[[nodiscard]] RemoteAddress read_address(const sockaddr_storage& address);

// For many small messages, and so that a client that vanished is noticed within a minute.
void tune_connection(int socket);

}  // namespace weft::serve
