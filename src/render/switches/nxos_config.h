// The parts of an NX-OS configuration (Nexus 9000, 10.x), each from a SwitchPlan. Internal to the nxos target. Commands
// follow Cisco's Nexus 9000 Series NX-OS configuration guides, release 10.4(x); each part names its guide.
#pragma once

#include "render/switches/cli_section.h"
#include "render/switches/cli_switches.h"

namespace weft::render {

// For syslog, NTP and DNS.
[[nodiscard]] std::string nxos_management_vrf(const SwitchPlan& plan);

inline constexpr std::string_view kNxosGuard = "JUMP-ONLY";

[[nodiscard]] std::string nxos_port_name(const SwitchPort& port);  // Ethernet1/3/2
// Egress queuing policy for ports of this speed: "ROCE-OUT-400G".
[[nodiscard]] std::string nxos_queuing_name(BitRate speed);
// The most common speed of lossless ports; its policy is the system-wide one.
[[nodiscard]] BitRate nxos_usual_speed(const SwitchPlan& plan);
[[nodiscard]] bool nxos_has_qos(const SwitchPlan& plan);

void nxos_system(CliWriter& out, const CliSwitch& input);  // features, host name, management services
void nxos_guard(CliWriter& out, const CliSwitch& input);   // the access list of the out-of-band network
void nxos_qos(CliWriter& out, const CliSwitch& input);
void nxos_vlans(CliWriter& out, const CliSwitch& input);  // VLANs, VRFs, static routes
void nxos_pair(CliWriter& out, const CliSwitch& input);   // vPC domain
void nxos_interfaces(CliWriter& out, const CliSwitch& input);
void nxos_bgp(CliWriter& out, const CliSwitch& input);

}  // namespace weft::render
