// The parts of an EOS configuration (Arista, 4.30 and later), each from a SwitchPlan. Internal to the eos target.
// Commands follow the Arista EOS User Manual; their forms were checked against the expected configurations of Arista's
// AVD collection (eos_cli_config_gen).
#pragma once

#include "render/switches/cli_section.h"
#include "render/switches/cli_switches.h"

namespace weft::render {

[[nodiscard]] std::string eos_management_vrf(const SwitchPlan& plan);  // for syslog, NTP, DNS
[[nodiscard]] std::uint32_t eos_pair_vlan(const SwitchPlan& plan);     // of the MLAG peer session: unused by fabrics

inline constexpr std::string_view kEosGuard = "JUMP-ONLY";
inline constexpr std::string_view kEosServices = "SERVICES";

[[nodiscard]] std::string eos_port_name(const SwitchPort& port);  // Ethernet3/5, or Ethernet12 for single-lane cages
[[nodiscard]] std::string eos_speed(const SwitchPort& port);      // "400g-4"
[[nodiscard]] std::string eos_profile_name(BitRate speed);        // "ROCE-400G"
[[nodiscard]] bool eos_has_qos(const SwitchPlan& plan);

void eos_system(CliWriter& out, const CliSwitch& input);
void eos_qos(CliWriter& out, const CliSwitch& input);
void eos_vlans(CliWriter& out, const CliSwitch& input);
void eos_interfaces(CliWriter& out, const CliSwitch& input);
void eos_guard(CliWriter& out, const CliSwitch& input);
void eos_pair(CliWriter& out, const CliSwitch& input);  // MLAG
void eos_routing(CliWriter& out, const CliSwitch& input);

}  // namespace weft::render
