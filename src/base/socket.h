// Client sockets: host names to addresses, connecting without blocking, and waiting, with a deadline.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/file_descriptor.h"

namespace weft {

using Deadline = std::chrono::steady_clock::time_point;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
struct Lookup {
  std::unique_ptr<addrinfo, FreeAddresses> list;  // at least one where `error` is 0
  int error = 0;                                  // for gai_strerror(3)
};
// `type` is SOCK_STREAM or SOCK_DGRAM.
[[nodiscard]] Lookup look_up_host(const std::string& host, std::uint16_t port, int type, int family = AF_UNSPEC);

// 0 as soon as one of poll(2)'s `events` comes, ETIMEDOUT when the deadline passes before, or errno.
[[nodiscard]] int wait_until_ready(int fd, short events, Deadline deadline);

struct Connection {
  enum class Step { done, socket, connect, wait };
  FileDescriptor socket{};    // not blocking
  Step stopped = Step::done;  // where it failed
  int error = 0;              // errno; ETIMEDOUT of Step::wait: the deadline has passed

  [[nodiscard]] bool ok() const { return stopped == Step::done; }
};
// To one address of a list.
[[nodiscard]] Connection connect_socket(const addrinfo& address, Deadline deadline);

}  // namespace weft
