// Address and protocol of a device's BMC. Derived from the cluster file (bmc/inventory.h); an endpoints file can
// override it for devices at other addresses or simulated ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace weft::oob {

enum class Protocol : std::uint8_t {
  none,
  redfish,
  ipmi
};  // none: it has an address, but no BMC with a supported protocol

// How the Redfish certificate is verified.
struct TlsTrust {
  std::string ca_file;  // PEM; empty: the system's CAs
  std::string pin;      // "sha256//BASE64" of the public key (RFC 7469 form, as in curl); empty: none
  bool verify = true;   // false only if the cluster file or the user explicitly says so
  std::string
      fingerprint;  // "sha256:HEX" of the certificate accepted with `weft oob trust`: it alone decides; or empty
};

// Whether HTTP Basic, which sends the password with each request, may replace a Redfish session.
enum class LoginPolicy : std::uint8_t {
  automatic,  // if the service has no sessions or has reached their limit; never after it refused the password
  session,    // never
  basic       // always: no session is asked for
};

struct Endpoint {
  std::string device;
  Protocol protocol = Protocol::redfish;
  std::string host;        // address or name
  std::uint16_t port = 0;  // 0: the protocol's default, 443 or 623
  TlsTrust tls;
  LoginPolicy login = LoginPolicy::automatic;
  std::string proxy;                     // "socks5h://127.0.0.1:1080" through the jump host (Redfish only); empty: none
  std::vector<int> cipher_suites{17};    // IPMI: in order of preference; never 0
  std::vector<std::string> workarounds;  // FreeIPMI's names ("opensesspriv", "solpayloadsize", ...)
  std::vector<std::string> console;  // a program that provides the console (ssh -p 2200 ...); empty: serial over LAN
  Duration connect_limit = milliseconds(5'000);
  Duration request_limit = milliseconds(10'000);  // one request and its response

  [[nodiscard]] std::uint16_t real_port() const { return port != 0 ? port : protocol == Protocol::ipmi ? 623 : 443; }
};

[[nodiscard]] std::string_view to_text(Protocol protocol);
// "10.128.0.22:443", "[2001:db8::1]:443".
[[nodiscard]] std::string authority_of(const Endpoint& endpoint);

}  // namespace weft::oob
