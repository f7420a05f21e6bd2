// The parts of an NX-OS configuration (Nexus 9000, 10.x), each from a SwitchView. Internal to the nxos target. Commands
// follow Cisco's Nexus 9000 Series NX-OS configuration guides, release 10.4(x); each part names its guide.
#pragma once

#include "render/switches/cli_section.h"
#include "render/switches/view.h"

namespace weft::render {

struct NxosInput {
  const SwitchView& view;
  const SwitchSurvey& survey;

  [[nodiscard]] const model::Cluster& cluster() const { return survey.input().cluster; }
  [[nodiscard]] std::string vrf() const;             // of the fabric
  [[nodiscard]] std::string management_vrf() const;  // of logs, time, names
};

inline constexpr std::string_view kNxosGuard = "JUMP-ONLY";

[[nodiscard]] std::string nxos_port_name(const SwitchLink& link);  // Ethernet1/3/2
// The policy of egress queues for ports of this speed: "ROCE-OUT-400G".
[[nodiscard]] std::string nxos_queuing_name(BitRate speed);
// The speed most lossless ports have; theirs is the policy of the whole switch.
[[nodiscard]] BitRate nxos_usual_speed(const SwitchView& view);
[[nodiscard]] bool nxos_has_qos(const SwitchView& view);

void nxos_system(CliWriter& out, const NxosInput& input);  // features, names, management services
void nxos_guard(CliWriter& out, const NxosInput& input);   // the access list of the out-of-band network
void nxos_qos(CliWriter& out, const NxosInput& input);
void nxos_vlans(CliWriter& out, const NxosInput& input);  // VLANs, VRFs, static routes
void nxos_pair(CliWriter& out, const NxosInput& input);   // vPC domain
void nxos_interfaces(CliWriter& out, const NxosInput& input);
void nxos_bgp(CliWriter& out, const NxosInput& input);

}  // namespace weft::render
