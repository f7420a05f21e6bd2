// Client sockets: host name lookup, non-blocking connect, and waiting with a deadline.
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
  std::unique_ptr<addrinfo, FreeAddresses> list;  // at least one if `error` is 0
  int error = 0;                                  // for gai_strerror(3)
};
// `type` is SOCK_STREAM or SOCK_DGRAM.
[[nodiscard]] Lookup look_up_host(const std::string& host, std::uint16_t port, int type, int family = AF_UNSPEC);

// Returns 0 as soon as one of poll(2)'s `events` occurs, ETIMEDOUT if the deadline passes first, or errno.
[[nodiscard]] int wait_until_ready(int fd, short events, Deadline deadline);

struct Connection {
  enum class Step { done, socket, connect, wait };
  FileDescriptor socket{};    // non-blocking
  Step stopped = Step::done;  // the step that failed
  int error = 0;              // errno; ETIMEDOUT in Step::wait: the deadline has passed

  [[nodiscard]] bool ok() const { return stopped == Step::done; }
};
// Connects to one address of a lookup.
[[nodiscard]] Connection connect_socket(const addrinfo& address, Deadline deadline);

}  // namespace weft
