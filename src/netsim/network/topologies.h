// Topologies to simulate without a cluster file: fat trees and leaf-spine as used in papers and by other simulators.
#pragma once

#include <cstdint>

#include "netsim/network/network.h"

namespace weft::netsim {

// Three tiers: host h on ToR h / hosts_per_tor; aggregation switch a of every pod to cores a*c .. a*c + c-1, where c is
// cores / aggs_per_pod. One link from each ToR to each aggregation switch of its pod.
struct FatTreeShape {
  std::uint32_t pods = 8;
  std::uint32_t tors_per_pod = 4;
  std::uint32_t hosts_per_tor = 4;
  std::uint32_t aggs_per_pod = 4;
  std::uint32_t cores = 16;
  BitRate rate = gigabits(100);
  SimTime delay = microseconds(1);
  SwitchBuffer buffer;
};
[[nodiscard]] Network fat_tree(const FatTreeShape& shape);

struct LeafSpineShape {
  std::uint32_t leaves = 8;
  std::uint32_t hosts_per_leaf = 16;
  std::uint32_t spines = 16;
  std::uint32_t links_per_spine = 1;
  BitRate host_rate = gigabits(400);
  BitRate uplink_rate = gigabits(400);
  SimTime delay = microseconds(1);
  SwitchBuffer buffer;
};
[[nodiscard]] Network leaf_spine(const LeafSpineShape& shape);

// One switch with `hosts` hosts.
[[nodiscard]] Network star(std::uint32_t hosts, BitRate rate, SimTime delay, SwitchBuffer buffer = {});
// A ring of switches with `hosts_each` hosts each: without up-down routing, cyclic buffer dependencies form here.
[[nodiscard]] Network ring_of_switches(std::uint32_t switches, std::uint32_t hosts_each, BitRate rate, SimTime delay,
                                       SwitchBuffer buffer = {});

}  // namespace weft::netsim
