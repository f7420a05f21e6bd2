// The parts of an EOS configuration (Arista, 4.30 and later), each from a SwitchView. Internal to the eos target.
// Commands follow the Arista EOS User Manual; their forms were held against the expected configurations of Arista's AVD
// collection (eos_cli_config_gen).
#pragma once

#include "render/switches/cli_section.h"
#include "render/switches/view.h"

namespace weft::render {

struct EosInput {
  const SwitchView& view;
  const SwitchSurvey& survey;

  [[nodiscard]] const model::Cluster& cluster() const { return survey.input().cluster; }
  [[nodiscard]] std::string vrf() const;             // of the fabric
  [[nodiscard]] std::string management_vrf() const;  // of logs, time, names
  [[nodiscard]] std::uint32_t pair_vlan() const;     // of MLAG's own session: one that no fabric has
};

inline constexpr std::string_view kEosGuard = "JUMP-ONLY";
inline constexpr std::string_view kEosServices = "SERVICES";

[[nodiscard]] std::string eos_port_name(const SwitchLink& link);  // Ethernet3/5, Ethernet12 on cages of one lane
[[nodiscard]] std::string eos_speed(const SwitchLink& link);      // "400g-4"
[[nodiscard]] std::string eos_profile_name(BitRate speed);        // "ROCE-400G"
[[nodiscard]] bool eos_has_qos(const SwitchView& view);

void eos_system(CliWriter& out, const EosInput& input);
void eos_qos(CliWriter& out, const EosInput& input);
void eos_vlans(CliWriter& out, const EosInput& input);
void eos_interfaces(CliWriter& out, const EosInput& input);
void eos_guard(CliWriter& out, const EosInput& input);
void eos_pair(CliWriter& out, const EosInput& input);  // MLAG
void eos_routing(CliWriter& out, const EosInput& input);

}  // namespace weft::render
