// Builds the tiers above the leaves: speed and modes between switches, number of spines and cores, and the ports that
// are cabled. The sizing itself is in clos.h.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "model/cluster_builder.h"

namespace weft::model {

// The modes between two switches at `speed`: the densest ones of both that a cable can join.
bool ClusterBuilder::trunk_modes(FabricKind kind, const SwitchModel& lower, const SwitchModel& upper, BitRate speed,
                                 PortMode& at_lower, PortMode& at_upper) {
  const FabricSpec& fabric = fabric_spec(kind);
  const auto joins = [&](const CageEnd& a, const CageEnd& b) {
    return media_.possible(a, b, speed, fabric.network.value, fabric.media.value, cluster_->media_);
  };
  const auto end_of = [](const PortMode& mode) { return CageEnd{mode.cages->form.value, mode.per_cage}; };
  at_lower = find_mode(lower, speed, {}, [&](const CageEnd& a) {
    return find_mode(upper, speed, {}, [&](const CageEnd& b) { return joins(a, b); }).cages != nullptr;
  });
  if (at_lower.cages == nullptr) return false;
  at_upper = find_mode(upper, speed, {}, [&](const CageEnd& b) { return joins(end_of(at_lower), b); });
  return at_upper.cages != nullptr;
}

// Speed and modes between switches. By default the speed that wastes the least capacity of either switch; among equals
// the slowest, which has the largest radix at both ends.
bool ClusterBuilder::choose_trunks(FabricKind kind) {
  const FabricSpec& fabric = fabric_spec(kind);
  FabricPlan& out = plan_of(kind);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  const SwitchModel& spine = *catalog_.switch_model(fabric.spine.value);
  const SwitchModel& core = *catalog_.switch_model(fabric.core.value);
  std::set<std::int64_t> speeds;
  if (fabric.uplink_speed.has_value()) {
    speeds.insert(fabric.uplink_speed->count());
  } else {
    for (const CageGroup& cages : leaf.cages.value) {
      for (const Breakout& mode : cages.breakouts.value) {
        if (mode.speed >= out.host_speed) speeds.insert(mode.speed.count());
      }
    }
  }
  Trunks best;
  std::int64_t best_capacity = 0;
  for (const std::int64_t speed : speeds) {
    Trunks trunks;
    if (!trunk_modes(kind, leaf, spine, BitRate(speed), trunks.leaf_up, trunks.spine_down)) continue;
    const std::int64_t capacity = std::min(trunks.leaf_up.ports(), trunks.spine_down.ports()) * (speed / 1'000'000);
    if (capacity <= best_capacity) continue;
    // Without a cable to a core the fabric has at most two tiers. The same applies if the spine's cages would need
    // different modes for downlinks and uplinks.
    const bool joined = trunk_modes(kind, spine, core, BitRate(speed), trunks.spine_up, trunks.core_down);
    const bool alike =
        trunks.spine_up.cages == trunks.spine_down.cages && trunks.spine_up.per_cage == trunks.spine_down.per_cage;
    if (!joined || !alike) trunks.core_down = {};
    best = trunks;
    best_capacity = capacity;
    out.uplink_speed = BitRate(speed);
  }
  trunks_[static_cast<std::size_t>(kind)] = best;
  return best_capacity > 0;
}

void ClusterBuilder::cable_spines(FabricKind kind, std::vector<FabricMember*>& members, const ClosPlan& plan,
                                  std::uint32_t first_spine, std::uint32_t stride, std::uint32_t plane,
                                  std::optional<std::uint32_t> rail) {
  const FabricSpec& fabric = fabric_spec(kind);
  const auto planes = static_cast<std::uint32_t>(fabric.planes.value);
  const PortMode& leaf_up = trunks_[static_cast<std::size_t>(kind)].leaf_up;
  const PortMode& spine_down = trunks_[static_cast<std::size_t>(kind)].spine_down;
  std::vector<std::uint32_t> next(plan.spines(), 0);
  std::size_t ordinal = 0;
  for (std::size_t c = 0; c < members.size(); ++c) {
    FabricMember& member = *members[c];
    const std::uint32_t links = plan.uplinks[c] / plan.spines_per_pod;
    // Uplinks use the last cages, so that hosts can be added toward them.
    const std::uint32_t up_first = leaf_up.ports() - divide_up(plan.uplinks[c], leaf_up.per_cage) * leaf_up.per_cage;
    for (std::uint32_t u = 0; u < member.units; ++u) {
      const std::uint32_t pod = plan.pod_of_unit[ordinal++];
      cluster_->units_[member.first_unit + u].pod = pod;
      for (std::uint32_t l = 0; l < member.leaves_per_unit; ++l) {
        LeafState& leaf = member.leaves[(u * member.leaves_per_unit + l) * planes + plane];
        if (rail && l != *rail) continue;
        dev(leaf.id).pod = static_cast<std::uint16_t>(pod);
        for (std::uint32_t k = 0; k < plan.uplinks[c]; ++k) {
          const std::uint32_t spine = pod * plan.spines_per_pod + k / links;
          const auto spine_id = static_cast<DeviceId>(first_spine + spine * stride);
          const PortId a = add_switch_port(leaf.id, kind, leaf_up, up_first + k);
          connect(a, add_switch_port(spine_id, kind, spine_down, next[spine]++), CableRole::leaf_spine);
        }
      }
    }
  }
}

void ClusterBuilder::cable_cores(FabricKind kind, const ClosPlan& plan, std::uint32_t first_spine, std::uint32_t stride,
                                 std::uint32_t first_core) {
  const PortMode& spine_up = trunks_[static_cast<std::size_t>(kind)].spine_up;
  const PortMode& core_down = trunks_[static_cast<std::size_t>(kind)].core_down;
  const std::uint32_t up_first =
      spine_up.ports() - divide_up(plan.spine_uplinks, spine_up.per_cage) * spine_up.per_cage;
  const std::uint32_t cores = plan.cores_per_group;
  const bool even = plan.spine_uplinks % cores == 0;
  std::vector<std::uint32_t> next(plan.cores(), 0);
  std::vector<std::uint32_t> turn(plan.spines_per_pod / plan.spines_per_core_group, 0);
  for (std::uint32_t pod = 0; pod < plan.pods; ++pod) {
    for (std::uint32_t j = 0; j < plan.spines_per_pod; ++j) {
      const std::uint32_t group = j / plan.spines_per_core_group;
      const auto spine = static_cast<DeviceId>(first_spine + (pod * plan.spines_per_pod + j) * stride);
      for (std::uint32_t k = 0; k < plan.spine_uplinks; ++k) {
        // If the uplinks do not divide evenly over the cores, round-robin across spines keeps the load of cores within
        // one link of each other.
        const std::uint32_t within = even ? k / (plan.spine_uplinks / cores) : turn[group]++ % cores;
        const std::uint32_t core = group * cores + within;
        const PortId a = add_switch_port(spine, kind, spine_up, up_first + k);
        connect(a, add_switch_port(static_cast<DeviceId>(first_core + core * stride), kind, core_down, next[core]++),
                CableRole::spine_core);
      }
    }
  }
}

// Adds spines and cores above all leaves: once per plane, and once per rail if rails are separate.
bool ClusterBuilder::interconnect(FabricKind kind, std::vector<FabricMember>& members) {
  const FabricSpec& fabric = fabric_spec(kind);
  const FabricPlan& out = plan_of(kind);
  const Trunks& trunks = trunks_[static_cast<std::size_t>(kind)];
  const PortMode& up = trunks.leaf_up;
  const bool rail_only = fabric.wiring.value == Wiring::rail_only;
  ClosRequest request;
  std::vector<FabricMember*> with_leaves;
  for (FabricMember& member : members) {
    if (member.leaves.empty() && member.units == 0) continue;
    LeafClass leaves;
    leaves.units = member.units;
    leaves.leaves_per_unit = rail_only ? 1 : member.leaves_per_unit;
    const std::uint32_t down = member.unit_size * member.ports_per_leaf;
    leaves.uplinks_min = fabric.uplinks.has_value()
                             ? static_cast<std::uint32_t>(fabric.uplinks.value)
                             : uplinks_needed(down, member.speed, out.uplink_speed, member.ratio);
    leaves.uplinks_max = uplinks_left(capacity(member.down, up), down);
    leaves.uplinks_empty = leaves.uplinks_max;
    // Managers and small pools may use cages above the unit's own.
    for (const LeafState& state : member.leaves) {
      if (up.cages != state.down.cages) break;
      const auto lanes = static_cast<std::uint32_t>(up.cages->lanes.value);
      const std::uint32_t cages = static_cast<std::uint32_t>(up.cages->count.value) - divide_up(state.high_lane, lanes);
      leaves.uplinks_max = std::min(leaves.uplinks_max, cages * up.per_cage);
    }
    request.classes.push_back(leaves);
    with_leaves.push_back(&member);
  }
  request.spine_ports = trunks.spine_down.ports();
  request.core_ports = trunks.core_down.ports();
  request.spines_min = static_cast<std::uint32_t>(fabric.spines.has_value() ? fabric.spines.value : 2);
  request.spine_ratio = fabric.spine_oversubscription.value;
  request.tiers = fabric.tiers.value == TierChoice::two ? 2 : fabric.tiers.value == TierChoice::three ? 3 : 0;
  auto planned = size_clos(request);
  if (!planned.ok()) {
    diagnostics_.error(fabric.place.known() ? fabric.place : spec_.place,
                       fmt::format("the {} fabric cannot be built: {}", to_text(kind), planned.error().message),
                       "use larger spines, a smaller unit, more oversubscription, or other `tiers`");
    return false;
  }
  build_tiers(kind, with_leaves, *planned);
  return true;
}

// Adds the spines and cores of a plan and cables them to the leaves.
void ClusterBuilder::build_tiers(FabricKind kind, std::vector<FabricMember*>& members, const ClosPlan& plan) {
  const FabricSpec& fabric = fabric_spec(kind);
  FabricPlan& out = plan_of(kind);
  const bool rail_only = fabric.wiring.value == Wiring::rail_only;
  const std::uint32_t rails = rail_only ? rails_[static_cast<std::size_t>(kind)] : 1;
  const auto planes = static_cast<std::uint32_t>(fabric.planes.value);
  const std::uint32_t stride = planes * rails;
  const auto add_tier = [&](Tier tier, const SwitchModel* model, std::uint32_t count) {
    DeviceGroup group;
    group.name = fmt::format("{}-{}", short_name(kind), to_text(tier));
    group.kind = DeviceKind::network_switch;
    group.fabric = kind;
    group.tier = tier;
    group.network_switch = model;
    const std::uint32_t id = add_group(std::move(group));
    const auto first = static_cast<std::uint32_t>(cluster_->devices_.size());
    for (std::uint32_t n = 0; n < count; ++n) {
      for (std::uint32_t s = 0; s < stride; ++s) {
        const std::string rail = rail_only ? fmt::format("-r{}", s / planes + 1) : "";
        const DeviceId added = add_device(id, fmt::format("{}{}-{}{:03}{}", short_name(kind), rail, to_text(tier),
                                                          n + 1, plane_suffix(planes, s % planes)));
        dev(added).plane = static_cast<std::uint16_t>(s % planes);
        dev(added).rail = static_cast<std::uint16_t>(s / planes);
        if (tier == Tier::spine) dev(added).pod = static_cast<std::uint16_t>(n / plan.spines_per_pod);
      }
    }
    return first;
  };
  const std::uint32_t first_spine = add_tier(Tier::spine, catalog_.switch_model(fabric.spine.value), plan.spines());
  const std::uint32_t first_core =
      plan.tiers == 3 ? add_tier(Tier::core, catalog_.switch_model(fabric.core.value), plan.cores()) : 0;
  for (std::uint32_t s = 0; s < stride; ++s) {
    const auto rail = rail_only ? std::optional<std::uint32_t>(s / planes) : std::nullopt;
    cable_spines(kind, members, plan, first_spine + s, stride, s % planes, rail);
    if (plan.tiers == 3) cable_cores(kind, plan, first_spine + s, stride, first_core + s);
  }
  out.tiers = plan.tiers;
  out.spines = plan.spines() * stride;
  out.cores = plan.tiers == 3 ? plan.cores() * stride : 0;
  out.pods = plan.pods;
  out.leaf_up = plan.uplinks.front();
  out.links_per_spine = plan.uplinks.front() / plan.spines_per_pod;
  if (plan.tiers == 3) {
    const std::int64_t down =
        std::int64_t{trunks_[static_cast<std::size_t>(kind)].spine_down.ports()} - plan.spine_uplinks;
    const std::int64_t divisor = std::gcd(down, static_cast<std::int64_t>(plan.spine_uplinks));
    out.spine_oversubscription = Ratio{down / divisor, plan.spine_uplinks / divisor};
  }
}

}  // namespace weft::model
