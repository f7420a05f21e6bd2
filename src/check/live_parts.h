// The parts that make up a LiveComparison. Internal to check/.
#pragma once

#include <string>
#include <vector>

#include "check/live_comparison.h"
#include "check/live_names.h"

namespace weft {

struct LiveParts {
  const Cluster& cluster;
  const ConfigSet& config;
  const Sources& sources;
  const LiveNames& names;
  std::vector<LiveDifference>& differences;
  CableCount& cables;
  std::vector<std::string>& notes;
};

void compare_wiring(const LiveParts& parts);    // live_wiring.cc
void compare_hosts(const LiveParts& parts);     // live_hosts.cc
void compare_switches(const LiveParts& parts);  // live_switches.cc

[[nodiscard]] inline std::string speed_text(std::int64_t mbps) { return to_text(BitRate(mbps * 1'000'000)); }

}  // namespace weft
