// Whether a machine answers IPMI over the network to somebody without a login, and what it offers him: the questions a
// scanner asks. Three datagrams that need no session: the presence ping of RMCP (ASF 2.0, section 3.2.4), Get Channel
// Authentication Capabilities (IPMI 2.0, section 22.13) and Get Channel Cipher Suites (section 22.15). Nothing is
// changed and nobody is logged in. Replies are read strictly: what is not such a reply is none.
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
  std::vector<int> suites;              // cipher suites on offer, ascending; empty when it did not say
};

// Sends and waits for at most `wait` each, twice. An error only when the address makes no sense or there is no route;
// silence is an answer.
[[nodiscard]] Result<IpmiProbe> probe_open_ipmi(const std::string& host, std::uint16_t port, Duration wait);

// The datagrams and their replies, for tests and fuzzing.
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
// The next 16 bytes of the list, fewer at its end; nothing when it is no such reply.
[[nodiscard]] std::optional<Bytes8> read_cipher_suites(std::span<const std::uint8_t> reply, std::uint8_t sequence);
// The numbers of the standard suites in the records (table 22-18), ascending; nothing when they make no sense.
[[nodiscard]] std::optional<std::vector<int>> suites_of(std::span<const std::uint8_t> records);

}  // namespace weft::oob
