// Checks whether a machine answers IPMI over LAN without a login, and what it offers, as a scanner does. Three
// datagrams that need no session: the presence ping of RMCP (ASF 2.0, section 3.2.4), Get Channel Authentication
// Capabilities (IPMI 2.0, section 22.13) and Get Channel Cipher Suites (section 22.15). Changes nothing and does not
// log in. Replies are parsed strictly; malformed ones are ignored.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace weft::oob {

struct IpmiProbe {
  bool answered = false;                // to any of the three
  std::optional<bool> anonymous_login;  // a null user with a null password may log in
  std::vector<int> suites;              // cipher suites offered, ascending; empty if not reported
};

// Sends each request at most twice and waits at most `wait` each time. An error only if the address is invalid or there
// is no route; no response is a valid result.
[[nodiscard]] Result<IpmiProbe> probe_open_ipmi(const std::string& host, std::uint16_t port, Duration wait);

// Requests and reply parsers, for tests and fuzzing.
using Bytes8 = std::vector<std::uint8_t>;
[[nodiscard]] Bytes8 presence_ping(std::uint8_t tag);
[[nodiscard]] bool is_presence_pong(std::span<const std::uint8_t> reply, std::uint8_t tag);

[[nodiscard]] Bytes8 auth_capabilities_request(std::uint8_t sequence);  // 0..63
struct AuthCapabilities {
  bool ipmi_2_0 = false;
  bool anonymous_login = false;
  bool null_users = false;
  bool no_authentication = false;  // IPMI 1.5 sessions of type "none"
};
[[nodiscard]] std::optional<AuthCapabilities> read_auth_capabilities(std::span<const std::uint8_t> reply,
                                                                     std::uint8_t sequence);

[[nodiscard]] Bytes8 cipher_suites_request(std::uint8_t sequence, std::uint8_t index);  // index 0..63
// The next 16 bytes of the list, fewer at its end; empty if it is not such a reply.
[[nodiscard]] std::optional<Bytes8> read_cipher_suites(std::span<const std::uint8_t> reply, std::uint8_t sequence);
// Ids of the standard suites in the records (table 22-18), ascending; empty if the records are invalid.
[[nodiscard]] std::optional<std::vector<int>> suites_of(std::span<const std::uint8_t> records);

}  // namespace weft::oob
