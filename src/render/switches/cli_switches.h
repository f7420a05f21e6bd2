// Switches configured with command lines (NX-OS, EOS): one file per switch, from its SwitchPlan, and notes on what the
// files cannot express. See switches/nxos.cc and switches/eos.cc for the syntax.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "render/core/target.h"
#include "render/switches/cli_section.h"
#include "render/switches/out_of_band.h"
#include "render/switches/switch_plan.h"

namespace weft::render {

// One switch while its file is written.
struct CliSwitch {
  const SwitchPlan& plan;
  const SwitchPlanner& planner;
  const SwitchServices& services;
  const std::vector<GuardRule>& guard;  // of out-of-band switches; see guard_rules()

  [[nodiscard]] const model::Cluster& cluster() const { return planner.cluster(); }
  [[nodiscard]] const model::OobSpec& oob() const { return planner.oob(); }
};

// The port channel between the leaves of a pair; servers' port channels are numbered from 1.
inline constexpr std::uint32_t kPairChannel = 1000;
[[nodiscard]] std::uint32_t channel_of(const SwitchPort& port);  // 0: none

// Hash seed of the tier: leaves 1, spines 2, cores 3 (hash polarization; see rule RE018).
[[nodiscard]] int hash_seed(const SwitchPlan& plan);
// Maximum number of ECMP paths: all uplinks, and the nodes that announce the same service address.
[[nodiscard]] std::uint32_t equal_paths(const SwitchPlan& plan);

// An access-list entry in the syntax of both systems: "udp host 10.0.0.1 eq 53 10.128.0.0/10".
[[nodiscard]] std::string guard_text(const GuardRule& rule);

// How the configuration of one switch OS is written, for render_switches().
struct SwitchDialect {
  std::string_view system;   // as in the catalog; also the folder
  std::string_view title;    // "NX-OS"
  std::string_view storage;  // where its files are stored: "bootflash"
  CliStyle style;
  void (*write)(CliWriter& out, const CliSwitch& one);
};
// Renders a file for every switch that runs this OS.
void render_switches(const RenderInput& input, FileSink& sink, const SwitchDialect& dialect);

}  // namespace weft::render
