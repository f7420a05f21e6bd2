#include "model/clos.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace weft::model {
namespace {

std::uint32_t round_up(std::uint32_t value, std::uint32_t step) { return (value + step - 1) / step * step; }
std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

template <class T>
Uint128 wide(T value) {
  return static_cast<Uint128>(value);
}

// Whether `down` ports of one speed over `up` ports of another stay within the ratio.
bool within(std::uint64_t down, BitRate down_speed, std::uint64_t up, BitRate up_speed, const Ratio& ratio) {
  return wide(down) * wide(down_speed.count()) * wide(ratio.denominator) <=
         wide(up) * wide(up_speed.count()) * wide(ratio.numerator);
}

// Uplinks by class if each leaf spreads them evenly over `spines`; nullopt if a leaf has too few ports.
std::optional<std::vector<std::uint32_t>> even_uplinks(const ClosRequest& request, std::uint32_t spines) {
  std::vector<std::uint32_t> uplinks;
  for (const LeafClass& leaves : request.classes) {
    const std::uint32_t up = round_up(leaves.uplinks_min, spines);
    if (up > leaves.uplinks_max) return std::nullopt;
    uplinks.push_back(up);
  }
  return uplinks;
}

std::uint32_t most_uplinks(const ClosRequest& request) {
  std::uint32_t most = 0;
  for (const LeafClass& leaves : request.classes) most = std::max(most, leaves.uplinks_max);
  return most;
}

// The smallest number of spines that every leaf can reach evenly and that have enough ports for all leaves. For leaves
// whose uplinks are half the radix, it is the smallest sufficient divisor of that half.
std::optional<ClosPlan> two_tiers(const ClosRequest& request) {
  for (std::uint32_t spines = request.spines_min; spines <= most_uplinks(request); ++spines) {
    const auto uplinks = even_uplinks(request, spines);
    if (!uplinks) continue;
    std::uint64_t links = 0;
    std::uint64_t units = 0;
    for (std::size_t c = 0; c < uplinks->size(); ++c) {
      const LeafClass& leaves = request.classes[c];
      links += std::uint64_t{leaves.units} * leaves.leaves_per_unit * (*uplinks)[c];
      units += leaves.units;
    }
    if (links / spines > request.spine_ports) continue;
    ClosPlan plan;
    plan.tiers = 2;
    plan.uplinks = *uplinks;
    plan.spines_per_pod = spines;
    plan.pod_of_unit.assign(units, 0);
    return plan;
  }
  return std::nullopt;
}

// Packs whole units into pods, in order, so that a pod's spines have a port for each link; into at least `pods_min`
// pods, if there are that many units. Returns nullopt if a unit does not fit into a pod at all.
std::optional<std::vector<std::uint32_t>> pack_pods(const ClosRequest& request,
                                                    const std::vector<std::uint32_t>& uplinks, std::uint32_t spines,
                                                    std::uint32_t spine_down, std::uint32_t pods_min) {
  std::uint64_t units_left = 0;
  for (const LeafClass& leaves : request.classes) units_left += leaves.units;
  std::vector<std::uint32_t> pod_of_unit;
  std::uint32_t pod = 0;
  std::uint64_t used = 0;
  for (std::size_t c = 0; c < uplinks.size(); ++c) {
    const LeafClass& leaves = request.classes[c];
    const std::uint64_t cost = std::uint64_t{leaves.leaves_per_unit} * (uplinks[c] / spines);
    if (cost > spine_down) return std::nullopt;
    for (std::uint32_t u = 0; u < leaves.units; ++u, --units_left) {
      const bool last_for_the_rest = used > 0 && pod + 1 + units_left <= pods_min;
      if (used + cost > spine_down || last_for_the_rest) {
        ++pod;
        used = 0;
      }
      used += cost;
      pod_of_unit.push_back(pod);
    }
  }
  return pod_of_unit;
}

std::uint32_t count_pods(const std::vector<std::uint32_t>& pod_of_unit) {
  return pod_of_unit.empty() ? 1 : pod_of_unit.back() + 1;
}

// Like pack_pods, but over `pods_wanted` pods even if fewer would do, as evenly as whole units allow.
std::optional<std::vector<std::uint32_t>> spread_over_pods(const ClosRequest& request,
                                                           const std::vector<std::uint32_t>& uplinks,
                                                           std::uint32_t spines, std::uint32_t spine_down,
                                                           std::uint32_t pods_wanted) {
  auto packed = pack_pods(request, uplinks, spines, spine_down, 1);
  if (!packed || count_pods(*packed) >= pods_wanted) return packed;
  std::uint64_t links = 0;
  for (std::size_t c = 0; c < uplinks.size(); ++c) {
    const LeafClass& leaves = request.classes[c];
    links += std::uint64_t{leaves.units} * leaves.leaves_per_unit * (uplinks[c] / spines);
  }
  for (auto down = static_cast<std::uint32_t>(divide_up(links, pods_wanted)); down <= spine_down; ++down) {
    auto spread = pack_pods(request, uplinks, spines, down, pods_wanted);
    if (spread && count_pods(*spread) == pods_wanted) return spread;
  }
  return packed;
}

// Groups neighboring spines over common cores so that no core is bought for a remainder of links. Uses the smallest
// such group; false if some spine could not reach all cores of its group.
bool group_cores(ClosPlan& plan, std::uint32_t core_ports) {
  bool found = false;
  ClosPlan trial = plan;
  for (std::uint32_t group = 1; group <= plan.spines_per_pod; ++group) {
    if (plan.spines_per_pod % group != 0) continue;
    trial.spines_per_core_group = group;
    trial.cores_per_group =
        static_cast<std::uint32_t>(divide_up(std::uint64_t{group} * plan.pods * plan.spine_uplinks, core_ports));
    if (trial.cores_per_group > plan.spine_uplinks) break;
    if (found && trial.cores() >= plan.cores()) continue;
    plan.spines_per_core_group = trial.spines_per_core_group;
    plan.cores_per_group = trial.cores_per_group;
    found = true;
  }
  return found;
}

// The largest number of spines of a two-tier fabric with any number of units of these classes. Beyond the first even
// number with one link per spine from each leaf, more spines serve no more leaves; if there is no such number, the
// largest even one. Leaves count as empty, so that the result does not depend on small pools.
std::uint32_t most_two_tier_spines(ClosRequest request) {
  std::uint32_t wanted = 0;
  for (LeafClass& leaves : request.classes) {
    leaves.uplinks_max = std::max(leaves.uplinks_max, leaves.uplinks_empty);
    wanted = std::max(wanted, leaves.uplinks_min);
  }
  std::uint32_t most = 0;
  for (std::uint32_t spines = request.spines_min; spines <= most_uplinks(request); ++spines) {
    if (even_uplinks(request, spines)) most = spines;
    if (most >= wanted) break;
  }
  return most;
}

// Downlink and uplink ports of a spine in three tiers.
struct SpineSplit {
  std::uint32_t down = 0;
  std::uint32_t up = 0;
};

std::optional<SpineSplit> split_spine(const ClosRequest& request) {
  const std::uint64_t ports = request.spine_ports;
  const auto numerator = static_cast<std::uint64_t>(request.spine_ratio.numerator);
  const auto denominator = static_cast<std::uint64_t>(request.spine_ratio.denominator);
  const std::uint64_t down = ports * numerator / (numerator + denominator);
  const std::uint64_t up = divide_up(down * denominator, numerator);
  if (down == 0 || down + up > ports || request.core_ports == 0) return std::nullopt;
  return SpineSplit{static_cast<std::uint32_t>(down), static_cast<std::uint32_t>(up)};
}

// The number of pods that pack_pods() fills; nullopt if a unit does not fit into a pod at all.
std::optional<std::uint64_t> pods_needed(const ClosRequest& request, const std::vector<std::uint32_t>& uplinks,
                                         std::uint32_t spines, std::uint32_t spine_down) {
  std::uint64_t pods = 1;
  std::uint64_t used = 0;
  for (std::size_t c = 0; c < uplinks.size(); ++c) {
    const LeafClass& leaves = request.classes[c];
    const std::uint64_t cost = std::uint64_t{leaves.leaves_per_unit} * (uplinks[c] / spines);
    if (cost > spine_down) return std::nullopt;
    if (cost == 0) continue;  // a class without leaves needs no port
    const std::uint64_t here = std::min<std::uint64_t>(leaves.units, (spine_down - used) / cost);
    const std::uint64_t rest = leaves.units - here;
    used += here * cost;
    if (rest == 0) continue;
    const std::uint64_t each = spine_down / cost;
    pods += divide_up(rest, each);
    used = (rest - (divide_up(rest, each) - 1) * each) * cost;
  }
  return pods;
}

// Minimum numbers of switches, so that growth never removes one.
struct Floors {
  std::uint32_t spines = 0;
  std::uint32_t cores = 0;
};

// The plan's shortfall from the floors, then its size: fewest spines first, not fewest switches, so that adding leaves
// never reduces the number of spines. Ties go to a plan in which spines spread evenly over cores, then to the one with
// the largest pods, which keep the most traffic below the core.
auto rank_of(const ClosPlan& plan, const Floors& floors) {
  return std::tuple(floors.spines - std::min(floors.spines, plan.spines()),
                    floors.cores - std::min(floors.cores, plan.cores()), plan.spines(), plan.cores(),
                    plan.spine_uplinks % plan.cores_per_group != 0, plan.spines_per_core_group, ~plan.spines_per_pod);
}

// Tries every number of spines per pod; units are not assigned to pods yet.
std::optional<ClosPlan> choose_pods(const ClosRequest& request, const SpineSplit& spine, const Floors& floors) {
  std::optional<ClosPlan> best;
  std::uint64_t units = 0;
  for (const LeafClass& leaves : request.classes) units += leaves.units;
  for (std::uint32_t spines = request.spines_min; spines <= most_uplinks(request); ++spines) {
    const auto uplinks = even_uplinks(request, spines);
    if (!uplinks) continue;
    const auto needed = pods_needed(request, *uplinks, spines, spine.down);
    if (!needed) continue;
    ClosPlan plan;
    plan.tiers = 3;
    plan.uplinks = *uplinks;
    plan.spines_per_pod = spines;
    plan.pods = static_cast<std::uint32_t>(std::max(*needed, std::min(units, divide_up(floors.spines, spines))));
    plan.spine_uplinks = spine.up;
    if (!group_cores(plan, request.core_ports)) continue;
    if (!best || rank_of(plan, floors) < rank_of(*best, floors)) best = std::move(plan);
  }
  return best;
}

// The largest number of cores of a three-tier fabric in which any one class has fewer units.
std::uint32_t most_cores_before(ClosRequest request, const SpineSplit& spine, const Floors& floors) {
  std::uint32_t most = 0;
  for (LeafClass& leaves : request.classes) {
    const std::uint32_t units = leaves.units;
    for (leaves.units = units - 1; leaves.units > 0 && leaves.units < units; --leaves.units) {
      if (request.tiers != 3 && two_tiers(request)) break;
      const auto plan = choose_pods(request, spine, floors);
      if (plan) most = std::max(most, plan->cores());
    }
    leaves.units = units;
  }
  return most;
}

// Spines in pods under cores, with at least as many of both as the same fabric has at a smaller size.
std::optional<ClosPlan> three_tiers(const ClosRequest& request) {
  const auto spine = split_spine(request);
  if (!spine) return std::nullopt;
  Floors floors;
  if (request.tiers != 3) floors.spines = most_two_tier_spines(request);
  if (!choose_pods(request, *spine, floors)) return std::nullopt;  // too large: no need to check smaller sizes
  floors.cores = most_cores_before(request, *spine, floors);
  auto plan = choose_pods(request, *spine, floors);
  if (!plan) return std::nullopt;
  auto pod_of_unit = spread_over_pods(request, plan->uplinks, plan->spines_per_pod, spine->down, plan->pods);
  if (!pod_of_unit || count_pods(*pod_of_unit) != plan->pods) return std::nullopt;
  plan->pod_of_unit = std::move(*pod_of_unit);
  return plan;
}

}  // namespace

LeafSplit split_leaf(const SwitchCapacity& leaf, BitRate down_speed, BitRate up_speed, const Ratio& ratio) {
  LeafSplit best;
  for (std::uint32_t cages = 1; cages <= leaf.down_cages; ++cages) {
    const std::uint32_t down = cages * leaf.down_per_cage;
    const std::uint32_t up = uplinks_left(leaf, down);
    if (!within(down, down_speed, up, up_speed, ratio)) break;
    best = {down, up};
  }
  return best;
}

std::uint32_t uplinks_left(const SwitchCapacity& leaf, std::uint32_t down) {
  if (!leaf.shared) return leaf.up_cages * leaf.up_per_cage;
  const std::uint32_t taken = leaf.down_per_cage == 0 ? 0 : (down + leaf.down_per_cage - 1) / leaf.down_per_cage;
  return taken >= leaf.up_cages ? 0 : (leaf.up_cages - taken) * leaf.up_per_cage;
}

std::uint32_t uplinks_needed(std::uint32_t down, BitRate down_speed, BitRate up_speed, const Ratio& ratio) {
  std::uint32_t up = 1;
  const Uint128 need = wide(down) * wide(down_speed.count()) * wide(ratio.denominator);
  const Uint128 each = wide(up_speed.count()) * wide(ratio.numerator);
  up = static_cast<std::uint32_t>((need + each - 1) / each);
  return std::max(up, 1U);
}

Result<ClosPlan> size_clos(const ClosRequest& request) {
  std::optional<ClosPlan> plan;
  if (request.tiers != 3) plan = two_tiers(request);
  if (!plan && request.tiers != 2) plan = three_tiers(request);
  if (plan) return *plan;
  return Error{ErrorCode::invalid_input,
               fmt::format("no {} of spines with {} ports serves these leaves evenly",
                           request.tiers == 2 ? "single tier" : "two tiers", request.spine_ports),
               {}};
}

}  // namespace weft::model
