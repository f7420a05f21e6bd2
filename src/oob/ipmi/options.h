// Converts an endpoint to FreeIPMI options: address format, workaround names, and IPMI's limits on user names and
// passwords. Everything that can be rejected before a packet is sent is rejected here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"
#include "oob/credentials/secret.h"

namespace weft::oob {

// IPMI 2.0, sections 22.28 and 22.30.
inline constexpr std::size_t kIpmiLongestUser = 16;
inline constexpr std::size_t kIpmiLongestPassword = 20;

struct IpmiOptions {
  std::string device;
  std::string address;              // "10.0.0.1:623", "[fd00::1]:6230"; FreeIPMI 1.6 accepts the port with the host
  std::string host;                 // as in the endpoint
  std::uint16_t port = 0;           // never 0
  std::vector<int> suites;          // in order of preference
  unsigned int session_flags = 0;   // IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_*
  unsigned int console_flags = 0;   // IPMICONSOLE_WORKAROUND_*
  unsigned int engine_flags = 0;    // IPMICONSOLE_ENGINE_*
  unsigned int connect_limit = 0;   // milliseconds
  unsigned int request_limit = 0;   // milliseconds
  unsigned int retransmission = 0;  // milliseconds; below the request limit
};

// Errors: refused (cipher suite 0 or any other without authentication and encryption, even as one of several),
// invalid_input (a workaround unknown to FreeIPMI, no cipher suite).
[[nodiscard]] Result<IpmiOptions> ipmi_options(const Endpoint& endpoint);

[[nodiscard]] Status check_ipmi_user(const std::string& user, const std::string& device);
[[nodiscard]] Status check_ipmi_password(const Secret& password, const std::string& device);

}  // namespace weft::oob
