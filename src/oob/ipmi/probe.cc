#include "oob/ipmi/probe.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "base/socket.h"

namespace weft::oob {
namespace {

// RMCP header (ASF 2.0: version 6, no acknowledgement, class IPMI), a session header without a session (IPMI 2.0
// section 13.6), and the request: channel 0Eh is the current one, bit 7 requests IPMI 2.0 data, 4 is administrator.
constexpr std::array<std::uint8_t, 23> kQuestion{0x06, 0x00, 0xFF, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                                 0x00, 0x09, 0x20, 0x18, 0xC8, 0x81, 0x00, 0x38, 0x8E, 0x04, 0xB5};
constexpr std::uint8_t kAnswerFunction = 0x1C;  // network function 7 (application, response), unit 0
constexpr std::uint8_t kCommand = 0x38;
constexpr std::size_t kFunctionAt = 15;
constexpr std::size_t kCommandAt = 19;
constexpr std::int64_t kAgain = 500;  // milliseconds until the request is retransmitted: datagrams get lost

bool is_answer(const std::uint8_t* bytes, std::size_t size) {
  return size > kCommandAt && bytes[0] == kQuestion[0] && bytes[3] == kQuestion[3] &&
         bytes[kFunctionAt] == kAnswerFunction && bytes[kCommandAt] == kCommand;
}

Error unreachable(const Endpoint& endpoint, int number) {
  if (number == ECONNREFUSED) {
    return {ErrorCode::unavailable, fmt::format("no IPMI listener at {} port {}", endpoint.host, endpoint.real_port()),
            endpoint.device};
  }
  return {ErrorCode::unavailable,
          fmt::format("cannot reach {}: {}", endpoint.host, std::generic_category().message(number)), endpoint.device};
}

Status ask(int descriptor, const Endpoint& endpoint) {
  using Steady = std::chrono::steady_clock;
  const auto end = Steady::now() + std::chrono::nanoseconds(endpoint.connect_limit.count());
  bool rubbish = false;
  for (;;) {
    if (::send(descriptor, kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) < 0 && errno != EINTR && errno != EAGAIN) {
      return unreachable(endpoint, errno);
    }
    const auto again = std::min(end, Steady::now() + std::chrono::milliseconds(kAgain));
    for (auto now = Steady::now(); now < again; now = Steady::now()) {
      pollfd wait{descriptor, POLLIN, 0};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(again - now).count();
      const int ready = ::poll(&wait, 1, static_cast<int>(left) + 1);
      if (ready <= 0) continue;  // the loop checks the deadline
      std::array<std::uint8_t, 1024> answer{};
      const ssize_t got = ::recv(descriptor, answer.data(), answer.size(), MSG_DONTWAIT);
      if (got < 0 && errno != EINTR && errno != EAGAIN) return unreachable(endpoint, errno);
      if (got < 0) continue;
      if (is_answer(answer.data(), static_cast<std::size_t>(got))) return {};
      rubbish = true;
    }
    if (Steady::now() >= end) break;
  }
  const std::int64_t limit = endpoint.connect_limit.count() / 1'000'000;
  if (rubbish) {
    return Error{ErrorCode::invalid_input, fmt::format("sent only invalid packets for {} ms", limit), endpoint.device};
  }
  return Error{ErrorCode::unavailable, fmt::format("no IPMI response within {} ms", limit), endpoint.device};
}

}  // namespace

Status probe_ipmi(const Endpoint& endpoint) {
  const Lookup found = look_up_host(endpoint.host, endpoint.real_port(), SOCK_DGRAM);
  if (found.error != 0) {
    return Error{ErrorCode::unavailable,
                 fmt::format("no address for '{}': {}", endpoint.host, ::gai_strerror(found.error)), endpoint.device};
  }
  const Connection made = connect_socket(*found.list, Deadline());  // UDP: connect() does not block
  if (!made.ok()) return unreachable(endpoint, made.error);
  return ask(made.socket.get(), endpoint);
}

}  // namespace weft::oob
