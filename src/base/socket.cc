#include "base/socket.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weft {

Lookup look_up_host(const std::string& host, std::uint16_t port, int type, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = type;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  Lookup lookup;
  lookup.error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (lookup.error == 0 && found == nullptr) lookup.error = EAI_NONAME;
  if (lookup.error == 0) lookup.list.reset(found);
  return lookup;
}

int wait_until_ready(int fd, short events, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd watched{fd, events, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
  }
}

Connection connect_socket(const addrinfo& address, Deadline deadline) {
  using Step = Connection::Step;
  const int type = address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC;
  Connection made{FileDescriptor(::socket(address.ai_family, type, address.ai_protocol))};
  const auto stop = [&](Step step, int error) {
    made.stopped = step;
    made.error = error;
    return std::move(made);
  };
  if (!made.socket.ok()) return stop(Step::socket, errno);
  if (::connect(made.socket.get(), address.ai_addr, address.ai_addrlen) == 0) return made;
  if (errno != EINPROGRESS) return stop(Step::connect, errno);
  if (const int problem = wait_until_ready(made.socket.get(), POLLOUT, deadline); problem != 0)
    return stop(Step::wait, problem);
  int problem = 0;
  socklen_t size = sizeof problem;
  if (::getsockopt(made.socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
  if (problem != 0) return stop(Step::connect, problem);
  return made;
}

}  // namespace weft
