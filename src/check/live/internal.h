// Input and output shared by the comparisons behind LiveComparison. Internal to check/live.
#pragma once

#include <string>
#include <vector>

#include "check/live/comparison.h"
#include "check/live/names.h"

namespace weft::check {

struct LiveContext {
  const model::Cluster& cluster;
  const config::ConfigSet& config;
  const Sources& sources;
  const LiveNames& names;
  std::vector<LiveDifference>& differences;
  CableCount& cables;
  std::vector<std::string>& notes;
};

void compare_wiring(const LiveContext& parts);    // live/wiring.cc
void compare_hosts(const LiveContext& parts);     // live/hosts.cc
void compare_switches(const LiveContext& parts);  // live/switches.cc

[[nodiscard]] inline std::string speed_text(std::int64_t mbps) { return to_text(BitRate(mbps * 1'000'000)); }

}  // namespace weft::check
