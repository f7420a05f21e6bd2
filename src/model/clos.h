// Clos sizing: how many leaves, spines and cores a fabric needs, by the published rule, independent of device models.
// Every leaf reaches every spine (of its pod) with the same number of links; if two tiers are too small, spines are
// grouped into pods under a core. One call sizes one plane; planes are equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace weft::model {

// Capacity of one switch model at the two speeds of a fabric. Cages are counted in lanes so that breakouts compare.
struct SwitchCapacity {
  // Ports of each kind if a whole cage is used for it; zero if the model does not support that speed.
  std::uint32_t down_cages = 0;  // cages that can face hosts
  std::uint32_t down_per_cage = 0;
  std::uint32_t up_cages = 0;  // cages that can face switches
  std::uint32_t up_per_cage = 0;
  bool shared = true;  // down and up ports come out of the same cages
};

// Maximum host ports of a leaf with a down : up bandwidth of at most `ratio`, and the uplink ports left.
struct LeafSplit {
  std::uint32_t down = 0;
  std::uint32_t up = 0;
};
[[nodiscard]] LeafSplit split_leaf(const SwitchCapacity& leaf, BitRate down_speed, BitRate up_speed,
                                   const Ratio& ratio);
// Maximum uplink ports of a leaf with `down` host ports in use.
[[nodiscard]] std::uint32_t uplinks_left(const SwitchCapacity& leaf, std::uint32_t down);
// Minimum uplinks that keep `down` host ports within `ratio`.
[[nodiscard]] std::uint32_t uplinks_needed(std::uint32_t down, BitRate down_speed, BitRate up_speed,
                                           const Ratio& ratio);

// Leaves of one kind: units x leaves_per_unit, each with at least `uplinks_min` and at most `uplinks_max` uplinks.
struct LeafClass {
  std::uint32_t units = 0;
  std::uint32_t leaves_per_unit = 0;
  std::uint32_t uplinks_min = 0;
  std::uint32_t uplinks_max = 0;
  std::uint32_t uplinks_empty = 0;  // maximum uplinks of a leaf without small pools or managers; 0: the same
};

struct ClosRequest {
  std::vector<LeafClass> classes;
  std::uint32_t spine_ports = 0;  // ports of a spine at the uplink speed
  std::uint32_t core_ports = 0;
  std::uint32_t spines_min = 2;
  Ratio spine_ratio;  // down : up of a spine, in three tiers
  int tiers = 0;      // 0: two, or three if two are too small
};

struct ClosPlan {
  int tiers = 2;
  std::vector<std::uint32_t> uplinks;  // of a leaf, by class
  std::uint32_t spines_per_pod = 0;    // in two tiers there is one pod
  std::uint32_t pods = 1;
  std::uint32_t spine_uplinks = 0;          // of one spine
  std::uint32_t spines_per_core_group = 1;  // spines of every pod with neighboring numbers share a group of cores
  std::uint32_t cores_per_group = 0;
  std::vector<std::uint32_t> pod_of_unit;  // by unit, classes one after the other

  [[nodiscard]] std::uint32_t spines() const { return spines_per_pod * pods; }
  [[nodiscard]] std::uint32_t cores() const { return spines_per_pod / spines_per_core_group * cores_per_group; }
};

[[nodiscard]] Result<ClosPlan> size_clos(const ClosRequest& request);

}  // namespace weft::model
