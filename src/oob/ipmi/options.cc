#include "oob/ipmi/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "oob/ipmi/lazy_freeipmi.h"

namespace weft::oob {
namespace {

struct Workaround {
  std::string_view name;
  unsigned int session = 0;
  unsigned int console = 0;
  unsigned int engine = 0;
};

// Names from FreeIPMI's --workaround-flags (man ipmiconsole, ipmi-chassis; freeipmi.conf). Some apply to only one of
// the two libraries, some only to session types that weft never opens.
constexpr std::array<Workaround, 17> kWorkarounds{{
    {"none", 0, 0},
    {"noauthcodecheck", 0, 0},      // of IPMI 1.5 sessions
    {"integritycheckvalue", 0, 0},  // of cipher suite 0

    {"authcap", IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_AUTHENTICATION_CAPABILITIES,
     IPMICONSOLE_WORKAROUND_AUTHENTICATION_CAPABILITIES},
    {"intel20", IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_INTEL_2_0_SESSION, IPMICONSOLE_WORKAROUND_INTEL_2_0_SESSION},
    {"supermicro20", IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_SUPERMICRO_2_0_SESSION,
     IPMICONSOLE_WORKAROUND_SUPERMICRO_2_0_SESSION},
    {"sun20", IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_SUN_2_0_SESSION, IPMICONSOLE_WORKAROUND_SUN_2_0_SESSION},
    {"opensesspriv", IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_OPEN_SESSION_PRIVILEGE,
     IPMICONSOLE_WORKAROUND_OPEN_SESSION_PRIVILEGE},
    {"nochecksumcheck", IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_NO_CHECKSUM_CHECK,
     IPMICONSOLE_WORKAROUND_NO_CHECKSUM_CHECK},
    {"serialalertsdeferred", 0, IPMICONSOLE_WORKAROUND_SERIAL_ALERTS_DEFERRED},
    {"solpacketseq", 0, IPMICONSOLE_WORKAROUND_INCREMENT_SOL_PACKET_SEQUENCE},
    {"solpayloadsize", 0, IPMICONSOLE_WORKAROUND_IGNORE_SOL_PAYLOAD_SIZE},
    {"solport", 0, IPMICONSOLE_WORKAROUND_IGNORE_SOL_PORT},
    {"solstatus", 0, IPMICONSOLE_WORKAROUND_SKIP_SOL_ACTIVATION_STATUS},
    {"solchannelsupport", 0, IPMICONSOLE_WORKAROUND_SKIP_CHANNEL_PAYLOAD_SUPPORT},
    // Options of ipmiconsole(8): the only way to detect that a BMC silently gave the console to another user.
    {"serial-keepalive", 0, 0, IPMICONSOLE_ENGINE_SERIAL_KEEPALIVE},
    {"serial-keepalive-empty", 0, 0, IPMICONSOLE_ENGINE_SERIAL_KEEPALIVE_EMPTY},
}};

// Suites that FreeIPMI supports (ipmiconsole.h), except those without authentication or encryption: all of these use
// AES. The others would send new passwords of other users in clear text.
constexpr std::array<int, 4> kSuites{3, 8, 12, 17};

// The library adds milliseconds in 32 bits to timestamps; an hour is longer than any useful BMC timeout.
constexpr std::int64_t kLongest = 3'600'000;
// Retransmissions slow down a busy BMC; FreeIPMI's own default is 1 s.
constexpr unsigned int kRetransmission = 1000;
// Below this, whole milliseconds leave no time between a retransmission and the timeout.
constexpr std::int64_t kShortest = 20;

unsigned int milliseconds_of(Duration limit) {
  return static_cast<unsigned int>(std::clamp<std::int64_t>(limit.count() / 1'000'000, kShortest, kLongest));
}

Result<std::vector<int>> check_suites(const Endpoint& endpoint) {
  if (endpoint.cipher_suites.empty()) {
    return Error{ErrorCode::invalid_input, "no IPMI cipher suite is allowed", endpoint.device};
  }
  for (const int suite : endpoint.cipher_suites) {
    if (suite == 0) {
      return Error{ErrorCode::refused, "IPMI cipher suite 0 has no authentication; weft never uses it",
                   endpoint.device};
    }
    if (std::find(kSuites.begin(), kSuites.end(), suite) == kSuites.end()) {
      return Error{
          ErrorCode::refused,
          fmt::format("IPMI cipher suite {} lacks authentication or encryption; supported: 17, 3, 8, 12", suite),
          endpoint.device};
    }
  }
  return endpoint.cipher_suites;
}

}  // namespace

Result<IpmiOptions> ipmi_options(const Endpoint& endpoint) {
  IpmiOptions options;
  options.device = endpoint.device;
  options.host = endpoint.host;
  options.port = endpoint.real_port();
  // An IPv6 address before a port is in brackets (FreeIPMI 1.6, RFC 3986 section 3.2.2).
  const bool six = endpoint.host.find(':') != std::string::npos && endpoint.host.front() != '[';
  options.address =
      six ? fmt::format("[{}]:{}", options.host, options.port) : fmt::format("{}:{}", options.host, options.port);
  Result<std::vector<int>> suites = check_suites(endpoint);
  if (!suites) return suites.error();
  options.suites = std::move(suites).value();
  for (const std::string& name : endpoint.workarounds) {
    const auto* known = std::find_if(kWorkarounds.begin(), kWorkarounds.end(),
                                     [&](const Workaround& workaround) { return workaround.name == name; });
    if (known == kWorkarounds.end()) {
      std::string all;
      for (const Workaround& workaround : kWorkarounds) all += (all.empty() ? "" : ", ") + std::string(workaround.name);
      return Error{ErrorCode::invalid_input, fmt::format("unknown IPMI workaround '{}'; supported: {}", name, all),
                   endpoint.device};
    }
    options.session_flags |= known->session;
    options.console_flags |= known->console;
    options.engine_flags |= known->engine;
  }
  options.connect_limit = milliseconds_of(endpoint.connect_limit);
  options.request_limit = milliseconds_of(endpoint.request_limit);
  // Several attempts fit into a short limit, too. FreeIPMI rejects a retransmission timeout that is not below the
  // limit.
  options.retransmission = std::min(kRetransmission, options.request_limit / 4);
  return options;
}

Status check_ipmi_user(const std::string& user, const std::string& device) {
  if (user.size() > kIpmiLongestUser || user.find('\0') != std::string::npos) {
    return Error{ErrorCode::invalid_input, "IPMI user names have at most 16 bytes", device};
  }
  return {};
}

Status check_ipmi_password(const Secret& password, const std::string& device) {
  if (password.reveal().size() > kIpmiLongestPassword || password.reveal().find('\0') != std::string::npos) {
    return Error{ErrorCode::invalid_input, "IPMI passwords have at most 20 bytes", device};
  }
  return {};
}

}  // namespace weft::oob
