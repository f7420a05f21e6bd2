// Builds backend and storage: membership, number of leaves, ports per leaf, and the cables between leaves, spines and
// cores. The sizing itself is in clos.h.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft::model {
namespace {

bool small_role(PoolRole role) {
  return role != PoolRole::training && role != PoolRole::inference && role != PoolRole::storage;
}

}  // namespace

PortMode ClusterBuilder::host_mode(FabricKind kind, const SwitchModel& leaf, const PortGroup& ports, BitRate speed,
                                   const std::optional<Breakout>& wanted, bool target) {
  const FabricSpec& fabric = fabric_spec(kind);
  const CageEnd host{ports.form.value, static_cast<std::uint32_t>(ports.per_cage.value * fabric.planes.value)};
  const auto& media = target ? fabric.storage_media.value : fabric.media.value;
  return find_mode(leaf, speed, wanted, [&](const CageEnd& end) {
    return media_.possible(host, end, speed, fabric.network.value, media, cluster_->media_);
  });
}

// The first speed of the servers' ports that the leaf and some cable support.
BitRate ClusterBuilder::common_speed(FabricKind kind, const SwitchModel& leaf, const PortGroup& ports,
                                     const std::optional<Breakout>& wanted, bool target) {
  for (const BitRate speed : ports.speeds.value) {
    if (host_mode(kind, leaf, ports, speed, wanted, target).cages != nullptr) return speed;
  }
  return BitRate(0);
}

bool ClusterBuilder::supports_network(const PortGroup& ports, NetworkKind network) const {
  const NicModel* nic = ports.nic.has_value() ? catalog_.nic(ports.nic.value) : nullptr;
  return nic == nullptr || std::find(nic->networks->begin(), nic->networks->end(), network) != nic->networks->end();
}

std::vector<FabricMember> ClusterBuilder::fabric_members(FabricKind kind) {
  const FabricSpec& fabric = fabric_spec(kind);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  std::vector<FabricMember> members;
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    const PoolSpec& pool = spec_.pools.value[i];
    const LinksSpec& links = pool.links.value;
    const std::int64_t count = kind == FabricKind::backend ? links.backend.value : links.storage.value;
    if (count == 0) continue;
    const bool target = pool.role.value == PoolRole::storage;
    FabricMember member;
    member.pool = i;
    member.group = pool_groups_[i];
    member.ports = port_group(*cluster_->groups_[member.group].server, port_use(kind));
    if (!supports_network(*member.ports, fabric.network.value)) {
      diagnostics_.error(fabric.network.place.known() ? fabric.network.place : pool.place,
                         fmt::format("adapter {} of pool `{}` does not support {}", member.ports->nic.value,
                                     pool.name->text, text_of(fabric.network.value)));
      return {};
    }
    member.links = static_cast<std::uint32_t>(count);
    member.small = kind == FabricKind::storage && small_role(pool.role.value);
    member.ratio = target ? fabric.storage_oversubscription.value : fabric.oversubscription.value;
    std::optional<Breakout> breakout =
        given_breakout(target && fabric.storage_breakout.has_value() ? fabric.storage_breakout : fabric.breakout);
    const std::uint32_t planes = static_cast<std::uint32_t>(fabric.planes.value);
    if (planes > 1) {
      // Each host cage is split across the planes, one port per plane.
      member.speed = BitRate(0);
      for (const Breakout& mode : member.ports->breakouts.value) {
        if (mode.ports == static_cast<int>(planes)) member.speed = mode.speed;
      }
      if (member.speed.count() == 0) {
        diagnostics_.error(fabric.planes.place, fmt::format("the {} ports of {} cannot be split over {} planes",
                                                            text_of(port_use(kind)), pool.server.value, planes));
        return {};
      }
    } else if (fabric.speed.has_value() && (!target || !breakout)) {
      const auto& speeds = member.ports->speeds.value;
      const bool possible = std::find(speeds.begin(), speeds.end(), fabric.speed.value) != speeds.end();
      member.speed = possible ? fabric.speed.value : common_speed(kind, leaf, *member.ports, breakout, target);
      if (!possible && !target && !member.small) {
        diagnostics_.error(fabric.speed.place, fmt::format("{} has no {} port at {}", pool.server.value,
                                                           text_of(port_use(kind)), to_text(fabric.speed.value)));
        return {};
      }
    } else {
      member.speed = common_speed(kind, leaf, *member.ports, breakout, target);
    }
    if (breakout && breakout->speed != member.speed) breakout.reset();
    member.down = host_mode(kind, leaf, *member.ports, member.speed, breakout, target);
    if (member.down.cages == nullptr) {
      diagnostics_.error(fabric.leaf.place.known() ? fabric.leaf.place : pool.place,
                         fmt::format("no cable connects a port of {} to {} of pool `{}` (its {} ports run at {})",
                                     fabric.leaf.value, pool.server.value, pool.name->text, text_of(port_use(kind)),
                                     to_text(member.speed.count() == 0 ? member.ports->speeds->front() : member.speed)),
                         "choose another leaf, speed, breakout or `media`");
      return {};
    }
    members.push_back(std::move(member));
  }
  return members;
}

// Whether the whole fabric fits on one switch (backend), or on one switch per rail (storage).
bool ClusterBuilder::fits_one_switch(FabricKind kind, const std::vector<FabricMember>& members) const {
  const FabricSpec& fabric = fabric_spec(kind);
  if (fabric.tiers.value == TierChoice::one) return true;
  if (fabric.tiers.value != TierChoice::automatic || fabric.spines.has_value() || fabric.uplinks.has_value())
    return false;
  if (fabric.planes.value > 1) return false;
  for (const FabricMember& member : members) {
    // Units requested in the file have their own leaves.
    const PoolSpec& pool = spec_.pools.value[member.pool];
    if (kind == FabricKind::backend && pool.unit.has_value() && pool.count.value > pool.unit.value) return false;
  }
  if (kind == FabricKind::backend && fabric.wiring.from_file()) return false;
  std::uint64_t lanes = 0;
  const std::uint32_t rails = kind == FabricKind::backend ? 1 : rails_[1];
  for (const FabricMember& member : members) {
    if (member.down.cages != members.front().down.cages) return false;
    lanes +=
        std::uint64_t{cluster_->groups_[member.group].count} * divide_up(member.links, rails) * member.down.lanes_each;
  }
  for (const auto& [group, manager] : manager_groups_[static_cast<std::size_t>(kind)]) {
    lanes += std::uint64_t{cluster_->groups_[group].count} * static_cast<std::uint64_t>(manager->ports.value) *
             members.front().down.lanes_each;
  }
  const CageGroup& cages = *members.front().down.cages;
  return lanes <= static_cast<std::uint64_t>(cages.count.value * cages.lanes.value);
}

// The pool's ports per leaf, and the number of servers that share a group of leaves.
bool ClusterBuilder::size_member(FabricKind kind, FabricMember& member, int tiers) {
  const FabricSpec& fabric = fabric_spec(kind);
  const PoolSpec& pool = spec_.pools.value[member.pool];
  const std::uint32_t rails = rails_[static_cast<std::size_t>(kind)];
  const BitRate up_speed = plan_of(kind).uplink_speed;
  const PortMode& up = trunks_[static_cast<std::size_t>(kind)].leaf_up;
  const std::uint32_t rail_leaves = std::min(member.links, rails);
  const auto per_server = [&](std::uint32_t leaves) { return divide_up(member.links, leaves); };
  std::uint32_t down = member.down.ports();
  if (up.cages != nullptr) {
    const SwitchCapacity cap = capacity(member.down, up);
    down = split_leaf(cap, member.speed, up_speed, member.ratio).down;
    if (fabric.uplinks.has_value()) {
      const std::uint32_t taken =
          cap.shared ? divide_up(static_cast<std::uint32_t>(fabric.uplinks.value), cap.up_per_cage) : 0;
      down = taken >= cap.down_cages ? 0 : (cap.down_cages - taken) * cap.down_per_cage;
    }
  }
  // Addresses always follow the two-tier unit, so that growing from one tier to two renumbers nothing.
  const auto asked = static_cast<std::uint32_t>(pool.unit.has_value() ? pool.unit.value : 0);
  member.address_size = std::max(1U, asked > 0 ? asked : down / per_server(rail_leaves));
  switch (fabric.wiring.value) {
    case Wiring::tor:
      member.leaves_per_unit = 1;
      break;
    case Wiring::dual_tor:
      member.leaves_per_unit = std::min(2U, member.links);
      break;
    default:
      member.leaves_per_unit = rail_leaves;
      break;
  }
  if (tiers == 1) {
    down = member.down.ports();
    if (kind == FabricKind::backend && fabric.tiers.value == TierChoice::automatic) member.leaves_per_unit = 1;
  }
  member.ports_per_leaf = per_server(member.leaves_per_unit);
  const std::uint32_t most = down / member.ports_per_leaf;
  member.unit_size = asked > 0 && tiers > 1 ? asked : most;
  if (kind == FabricKind::storage && member.unit_size > most) member.unit_size = most;
  if (member.unit_size == 0 || member.unit_size > most) {
    diagnostics_.error(
        asked > 0 ? pool.unit.place : (fabric.leaf.place.known() ? fabric.leaf.place : pool.place),
        fmt::format("a unit of {} servers of pool `{}` needs {} ports on each {} leaf, but {} has {} at {}{}",
                    std::max(member.unit_size, 1U), pool.name->text,
                    std::max(member.unit_size, 1U) * member.ports_per_leaf, to_text(kind), fabric.leaf.value, down,
                    to_text(member.speed),
                    tiers == 1 ? "" : fmt::format(" with {} oversubscription", to_text(member.ratio))),
        "use a smaller unit, a larger leaf, or more oversubscription");
    return false;
  }
  member.units = divide_up(cluster_->groups_[member.group].count, member.unit_size);
  return true;
}

void ClusterBuilder::add_leaves(FabricKind kind, FabricMember& member) {
  const FabricSpec& fabric = fabric_spec(kind);
  const auto planes = static_cast<std::uint32_t>(fabric.planes.value);
  const bool shared = member.small;
  const std::string owner = shared ? "shared" : spec_.pools.value[member.pool].name->text;
  DeviceGroup group;
  group.name = fmt::format("{}-{}-leaf", short_name(kind), owner);
  group.kind = DeviceKind::network_switch;
  group.fabric = kind;
  group.tier = Tier::leaf;
  group.pool = shared ? -1 : static_cast<int>(member.pool);
  group.network_switch = catalog_.switch_model(fabric.leaf.value);
  const std::uint32_t id = add_group(std::move(group));
  member.first_unit = static_cast<std::uint32_t>(cluster_->units_.size());
  for (std::uint32_t u = 0; u < member.units; ++u) {
    Unit unit;
    unit.fabric = kind;
    unit.pool = shared ? -1 : static_cast<int>(member.pool);
    unit.index = u;
    unit.capacity = member.unit_size;
    unit.first_leaf = static_cast<DeviceId>(cluster_->devices_.size());
    unit.leaves = member.leaves_per_unit * planes;
    for (std::uint32_t l = 0; l < member.leaves_per_unit; ++l) {
      for (std::uint32_t plane = 0; plane < planes; ++plane) {
        LeafState leaf;
        leaf.id = add_device(id, fmt::format("{}-{}-u{:03}-leaf{}{}", short_name(kind), owner, u + 1, l + 1,
                                             plane_suffix(planes, plane)));
        leaf.down = member.down;
        Device& device = dev(leaf.id);
        device.unit = static_cast<UnitId>(cluster_->units_.size());
        device.plane = static_cast<std::uint16_t>(plane);
        device.rail = static_cast<std::uint16_t>(l);
        member.leaves.push_back(leaf);
      }
    }
    cluster_->units_.push_back(unit);
  }
}

void ClusterBuilder::attach_unit_servers(FabricKind kind, FabricMember& member) {
  const DeviceGroup group = cluster_->groups_[member.group];
  const auto planes = static_cast<std::uint32_t>(fabric_spec(kind).planes.value);
  const std::uint32_t rails = rails_[static_cast<std::size_t>(kind)];
  for (std::uint32_t n = 0; n < group.count; ++n) {
    const auto server = static_cast<DeviceId>(index_of(group.first) + n);
    const std::uint32_t u = n / member.unit_size;
    const std::uint32_t place = n % member.unit_size;
    const auto unit = static_cast<UnitId>(member.first_unit + u);
    if (kind == FabricKind::backend) dev(server).unit = unit;
    ++cluster_->units_[index_of(unit)].servers;
    for (std::uint32_t p = 0; p < member.links; ++p) {
      for (std::uint32_t plane = 0; plane < planes; ++plane) {
        LeafState& leaf = member.leaves[(u * member.leaves_per_unit + p % member.leaves_per_unit) * planes + plane];
        const std::uint32_t position = place * member.ports_per_leaf + p / member.leaves_per_unit;
        const PortId a = add_server_port(server, kind, p, p % rails, plane, member.speed);
        connect(a, add_switch_port(leaf.id, kind, leaf.down, position), CableRole::host_leaf);
        leaf.next_lane = std::max(leaf.next_lane, (position + 1) * leaf.down.lanes_each);
        leaf.high_lane = leaf.next_lane;
      }
    }
  }
}

void ClusterBuilder::build_rail_fabric(FabricKind kind) {
  const FabricSpec& fabric = fabric_spec(kind);
  const auto slot = static_cast<std::size_t>(kind);
  std::vector<FabricMember> members = fabric_members(kind);
  if (failed() || members.empty()) {
    if (members.empty() && !manager_groups_[slot].empty() && !failed()) {
      diagnostics_.error(fabric.managers.place,
                         fmt::format("the {} fabric has managers but no servers", to_text(kind)));
    }
    return;
  }
  FabricPlan& out = plan_of(kind);
  out.present = true;
  out.network = fabric.network.value;
  out.planes = static_cast<std::uint32_t>(fabric.planes.value);
  // Rails: on the backend those of the GPU servers; on storage those of the clients, with targets folded onto them.
  std::uint32_t rails = 0;
  for (const FabricMember& member : members) {
    const bool target = spec_.pools.value[member.pool].role.value == PoolRole::storage;
    if (kind == FabricKind::backend || !target) rails = std::max(rails, member.links);
    out.host_speed = std::max(out.host_speed, member.speed);
  }
  if (rails == 0) rails = std::min(2U, members.front().links);
  rails = std::min(rails, static_cast<std::uint32_t>(kind == FabricKind::storage ? 2 : 16));
  rails_[slot] = rails;
  out.rails = rails;
  if (fabric.vlan.value + rails - 1 > 4094) {
    diagnostics_.error(fabric.vlan.place,
                       fmt::format("{} rails starting at VLAN {} exceed VLAN 4094", rails, fabric.vlan.value));
    return;
  }
  if (fabric.subnets->size() < rails) {
    diagnostics_.error(fabric.subnets.place, fmt::format("{} rails need {} subnets, but {} are configured", rails,
                                                         rails, fabric.subnets->size()));
    return;
  }
  const bool trunks = choose_trunks(kind);
  const bool one_tier = fits_one_switch(kind, members);
  if (!one_tier && !trunks) {
    diagnostics_.error(
        fabric.uplink_speed.place.known() ? fabric.uplink_speed.place
        : fabric.leaf.place.known()       ? fabric.leaf.place
                                          : spec_.place,
        fmt::format("no cable connects {} and {} at {}", fabric.leaf.value, fabric.spine.value,
                    fabric.uplink_speed.has_value() ? to_text(fabric.uplink_speed.value) : "the hosts' speed or above"),
        "change `uplink_speed`, `spine` or `media`");
    return;
  }
  out.tiers = 1;
  out.pods = 1;
  out.wiring = one_tier && kind == FabricKind::backend && fabric.tiers.value == TierChoice::automatic
                   ? Wiring::tor
                   : fabric.wiring.value;
  if (one_tier) {
    // One set of leaves serves every pool: the first pool's, so that its name does not change when more sets are added.
    std::stable_sort(members.begin(), members.end(),
                     [](const FabricMember& a, const FabricMember& b) { return a.small < b.small; });
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    FabricMember& member = members[i];
    if (!size_member(kind, member, one_tier ? 1 : 2)) return;
    if (one_tier && i > 0) member.small = true;
    if (member.small) {
      member.units = 0;
      continue;
    }
    if (one_tier && member.units > 1) {
      diagnostics_.error(fabric.tiers.place,
                         fmt::format("a single tier of {} leaves connects at most {} servers, not {}",
                                     fabric.leaf.value, member.unit_size, cluster_->groups_[member.group].count));
      return;
    }
    add_leaves(kind, member);
    attach_unit_servers(kind, member);
  }
  // Free lanes above the servers: up to the first cage needed by an uplink.
  for (FabricMember& member : members) {
    const PortMode& up = trunks_[slot].leaf_up;
    for (LeafState& leaf : member.leaves) {
      const auto lanes = static_cast<std::uint32_t>(leaf.down.cages->lanes.value);
      leaf.top_lane = static_cast<std::uint32_t>(leaf.down.cages->count.value) * lanes;
      if (one_tier || up.cages != leaf.down.cages) continue;
      const std::uint32_t down = member.unit_size * member.ports_per_leaf;
      const std::uint32_t uplinks = fabric.uplinks.has_value()
                                        ? static_cast<std::uint32_t>(fabric.uplinks.value)
                                        : uplinks_needed(down, member.speed, out.uplink_speed, member.ratio);
      const std::uint32_t most = std::max(uplinks_left(capacity(leaf.down, up), down), uplinks);
      // Uplinks may still be rounded up to reach every spine: reserve their maximum, but never a server's port.
      const std::uint32_t kept = std::min(most, divide_up(uplinks, 8) * 8);
      leaf.top_lane -= std::min(leaf.top_lane, divide_up(kept, up.per_cage) * lanes);
      leaf.top_lane = std::max(leaf.top_lane, leaf.next_lane);
    }
  }
  bool any_small = false;
  for (const FabricMember& member : members) any_small = any_small || member.small;
  if (any_small) attach_small_servers(kind, members, one_tier && !members.front().small);
  if (failed()) return;
  attach_managers(kind, members);
  if (failed()) return;
  if (!one_tier && !interconnect(kind, members)) return;
  note_plan(kind, members);
  members_[slot] = std::move(members);
}

void ClusterBuilder::note_plan(FabricKind kind, const std::vector<FabricMember>& members) {
  FabricPlan& out = plan_of(kind);
  for (const FabricMember& member : members) {
    out.leaves += static_cast<std::uint32_t>(member.leaves.size());
    if (member.leaves.empty()) continue;
    const std::uint32_t down = member.unit_size * member.ports_per_leaf;
    if (out.leaf_down != 0) continue;
    out.leaf_down = down;
    if (out.tiers > 1) {
      const std::int64_t a = std::int64_t{down} * (member.speed.count() / 1'000'000);
      const std::int64_t b = std::int64_t{out.leaf_up} * (out.uplink_speed.count() / 1'000'000);
      const std::int64_t divisor = std::max<std::int64_t>(1, std::gcd(a, b));
      out.oversubscription = Ratio{a / divisor, b / divisor};
    }
  }
}

}  // namespace weft::model
