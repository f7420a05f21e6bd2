// Backend and storage: who is on the fabric, how many leaves that takes, which port meets which leaf, and how leaves,
// spines and cores are joined. The counting itself is clos.h's.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft {
namespace {

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

const char* plane_suffix(std::uint32_t planes, std::uint32_t plane) {
  static constexpr const char* kSuffixes[] = {"a", "b", "c", "d"};
  return planes > 1 ? kSuffixes[plane] : "";
}

std::optional<Breakout> given_breakout(const Given<Breakout>& given) {
  return given.has_value() ? std::optional<Breakout>(given.value) : std::nullopt;
}

bool small_role(PoolRole role) {
  return role != PoolRole::training && role != PoolRole::inference && role != PoolRole::storage;
}

// Speed between switches: the hosts' own where the leaf has it, so that both ends count the same radix.
BitRate uplink_speed(const FabricSpec& fabric, const SwitchModel& leaf, const SwitchModel& spine, BitRate host) {
  if (fabric.uplink_speed.has_value()) return fabric.uplink_speed.value;
  if (find_mode(leaf, host).cages != nullptr && find_mode(spine, host).cages != nullptr) return host;
  BitRate best(0);
  for (const CageGroup& cages : leaf.cages.value) {
    for (const Breakout& mode : cages.breakouts.value) {
      if (mode.speed > best && find_mode(spine, mode.speed).cages != nullptr) best = mode.speed;
    }
  }
  return best;
}

SwitchCapacity capacity(const PortMode& down, const PortMode& up) {
  SwitchCapacity out;
  out.down_cages = static_cast<std::uint32_t>(down.cages->count.value);
  out.down_per_cage = down.per_cage;
  out.up_cages = static_cast<std::uint32_t>(up.cages->count.value);
  out.up_per_cage = up.per_cage;
  out.shared = down.cages == up.cages;
  return out;
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

// The first speed of the servers' ports that the leaf can run and a cable can carry.
BitRate ClusterBuilder::common_speed(FabricKind kind, const SwitchModel& leaf, const PortGroup& ports,
                                     const std::optional<Breakout>& wanted, bool target) {
  for (const BitRate speed : ports.speeds.value) {
    if (host_mode(kind, leaf, ports, speed, wanted, target).cages != nullptr) return speed;
  }
  return BitRate(0);
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
    member.links = static_cast<std::uint32_t>(count);
    member.small = kind == FabricKind::storage && small_role(pool.role.value);
    member.ratio = target ? fabric.storage_oversubscription.value : fabric.oversubscription.value;
    std::optional<Breakout> breakout =
        given_breakout(target && fabric.storage_breakout.has_value() ? fabric.storage_breakout : fabric.breakout);
    const std::uint32_t planes = static_cast<std::uint32_t>(fabric.planes.value);
    if (planes > 1) {
      // Each host cage is split over the planes, one port to each.
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
                         fmt::format("{} has no port that a cable joins to {} of pool `{}` (its {} ports run at {})",
                                     fabric.leaf.value, pool.server.value, pool.name->text, text_of(port_use(kind)),
                                     to_text(member.speed.count() == 0 ? member.ports->speeds->front() : member.speed)),
                         "choose another leaf, speed, breakout or `media`");
      return {};
    }
    members.push_back(std::move(member));
  }
  return members;
}

// Everything of the fabric on one switch (backend), or on one switch a rail (storage)?
bool ClusterBuilder::fits_one_switch(FabricKind kind, const std::vector<FabricMember>& members) const {
  const FabricSpec& fabric = fabric_spec(kind);
  if (fabric.tiers.value == TierChoice::one) return true;
  if (fabric.tiers.value != TierChoice::automatic || fabric.spines.has_value() || fabric.uplinks.has_value())
    return false;
  if (fabric.planes.value > 1) return false;
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

// How the pool meets its leaves, and how many servers share a group of leaves.
bool ClusterBuilder::size_member(FabricKind kind, FabricMember& member, int tiers) {
  const FabricSpec& fabric = fabric_spec(kind);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  const SwitchModel& spine = *catalog_.switch_model(fabric.spine.value);
  const PoolSpec& pool = spec_.pools.value[member.pool];
  const std::uint32_t rails = rails_[static_cast<std::size_t>(kind)];
  const BitRate up_speed = uplink_speed(fabric, leaf, spine, plan_of(kind).host_speed);
  const PortMode up = find_mode(leaf, up_speed);
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
  // Addresses follow the two-tier unit whatever is built, so that growing from one tier to two moves none.
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
  member.unit_size = asked > 0 ? asked : most;
  if (kind == FabricKind::storage && member.unit_size > most) member.unit_size = most;
  if (member.unit_size == 0 || member.unit_size > most) {
    diagnostics_.error(
        asked > 0 ? pool.unit.place : (fabric.leaf.place.known() ? fabric.leaf.place : pool.place),
        fmt::format("a unit of {} servers of pool `{}` needs {} ports on each {} leaf, but {} has {} at {}{}",
                    std::max(member.unit_size, 1U), pool.name->text,
                    std::max(member.unit_size, 1U) * member.ports_per_leaf, to_text(kind), fabric.leaf.value, down,
                    to_text(member.speed),
                    tiers == 1 ? "" : fmt::format(" with {} oversubscription", to_text(member.ratio))),
        "a smaller unit, a larger leaf, or more oversubscription");
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

// Small pools fill leaves from the top. `sets` are groups of leaves that can take them; a port on rail r goes to leaf r
// of the first set with room. Works on copies of the leaves' state, so that a first call can tell whether all fit.
bool ClusterBuilder::plan_small_servers(FabricKind kind, const std::vector<FabricMember>& members,
                                        std::vector<std::vector<LeafState>>& sets,
                                        std::vector<SmallLink>& links) const {
  const std::uint32_t rails = rails_[static_cast<std::size_t>(kind)];
  for (std::size_t m = 0; m < members.size(); ++m) {
    const FabricMember& member = members[m];
    if (!member.small) continue;
    const std::uint32_t lanes = member.down.lanes_each;
    const DeviceGroup& group = cluster_->groups_[member.group];
    for (std::uint32_t n = 0; n < group.count; ++n) {
      for (std::uint32_t p = 0; p < member.links; ++p) {
        bool placed = false;
        for (std::size_t s = 0; s < sets.size() && !placed; ++s) {
          const std::size_t l = (p % rails) % sets[s].size();
          LeafState& leaf = sets[s][l];
          if (leaf.down.cages != member.down.cages) continue;
          const auto cage = static_cast<std::uint32_t>(leaf.down.cages->lanes.value);
          // A cage runs in one mode: another one starts on the next cage, and keeps off the servers' last.
          const bool same = leaf.top_mode == 0 || leaf.top_mode == lanes;
          const std::uint32_t top = same ? leaf.top_lane : leaf.top_lane / cage * cage;
          const std::uint32_t bottom =
              leaf.down.lanes_each == lanes ? leaf.next_lane : divide_up(leaf.next_lane, cage) * cage;
          if (top < bottom + lanes) continue;
          leaf.top_mode = lanes;
          leaf.high_lane = std::max(leaf.high_lane, top);
          leaf.top_lane = top - lanes;
          links.push_back({m, n, p, s, l, leaf.top_lane / lanes});
          placed = true;
        }
        if (!placed) return false;
      }
    }
  }
  return true;
}

// Puts small pools on the first units' leaves where there is room, else on sets of leaves of their own, which it adds.
void ClusterBuilder::attach_small_servers(FabricKind kind, std::vector<FabricMember>& members, bool one_tier) {
  const std::uint32_t rails = rails_[static_cast<std::size_t>(kind)];
  std::vector<std::pair<FabricMember*, std::vector<std::size_t>>> hosts;  // where each leaf of a set lives
  std::vector<std::vector<LeafState>> sets;
  const auto offer = [&](FabricMember& member, std::uint32_t first) {
    std::vector<LeafState> set;
    std::vector<std::size_t> where;
    for (std::uint32_t l = 0; l < member.leaves_per_unit; ++l) {
      where.push_back(first + l);
      set.push_back(member.leaves[first + l]);
    }
    hosts.emplace_back(&member, std::move(where));
    sets.push_back(std::move(set));
  };
  // The first unit only: its room never grows with the pool, so leaves added here are never taken away again.
  const bool planes = fabric_spec(kind).planes.value > 1;
  for (const bool storage_first : {true, false}) {
    for (FabricMember& member : members) {
      const bool target = spec_.pools.value[member.pool].role.value == PoolRole::storage;
      if (!member.leaves.empty() && target == storage_first && !planes) offer(member, 0);
    }
  }
  std::vector<SmallLink> links;
  FabricMember shared;
  if (!plan_small_servers(kind, members, sets, links)) {
    for (const FabricMember& member : members) {
      if (member.small) shared = member;
    }
    shared.small = true;
    shared.leaves_per_unit = rails;
    shared.ports_per_leaf = 1;
    bool fits = false;
    const std::uint32_t room = shared.unit_size * shared.down.lanes_each;
    for (shared.units = 1; shared.units <= 4096 && !one_tier && !fits; ++shared.units) {
      LeafState empty;
      empty.down = shared.down;
      empty.top_lane = room;
      std::vector<std::vector<LeafState>> trial(shared.units, std::vector<LeafState>(rails, empty));
      links.clear();
      fits = plan_small_servers(kind, members, trial, links);
      if (fits) break;
    }
    if (!fits) {
      diagnostics_.error(fabric_spec(kind).place.known() ? fabric_spec(kind).place : spec_.place,
                         fmt::format("the leaves of the {} fabric have no room for all servers", to_text(kind)),
                         "set `tiers: 2`, or choose a leaf whose ports all servers can use");
      return;
    }
    add_leaves(kind, shared);
    for (LeafState& leaf : shared.leaves) leaf.top_lane = room;
    hosts.clear();
    sets.clear();
    for (std::uint32_t u = 0; u < shared.units; ++u) offer(shared, u * rails);
    links.clear();
    CHECK(plan_small_servers(kind, members, sets, links), "tried with the same leaves just before");
  }
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (std::size_t l = 0; l < sets[s].size(); ++l) {
      LeafState& leaf = hosts[s].first->leaves[hosts[s].second[l]];
      leaf.top_lane = sets[s][l].top_lane;
      leaf.top_mode = sets[s][l].top_mode;
      leaf.high_lane = std::max(leaf.high_lane, sets[s][l].high_lane);
    }
  }
  for (const SmallLink& link : links) {
    const FabricMember& member = members[link.member];
    const auto server = static_cast<DeviceId>(index_of(cluster_->groups_[member.group].first) + link.server);
    const DeviceId leaf = sets[link.set][link.leaf].id;
    const PortId a = add_server_port(server, kind, link.port, link.port % rails, 0, member.speed);
    connect(a, add_switch_port(leaf, kind, member.down, link.position), CableRole::host_leaf);
  }
  if (!shared.leaves.empty()) members.push_back(std::move(shared));
}

// Managers take ports next to the servers: first where a cage is half used already, else on the leaf with most room,
// and never two ports of one appliance on one leaf while another has room.
void ClusterBuilder::attach_managers(FabricKind kind, std::vector<FabricMember>& members) {
  std::vector<LeafState*> leaves;
  for (FabricMember& member : members) {
    for (LeafState& leaf : member.leaves) {
      if (cluster_->device(leaf.id).plane == 0) leaves.push_back(&leaf);
    }
  }
  for (const auto& [group_id, manager] : manager_groups_[static_cast<std::size_t>(kind)]) {
    const DeviceGroup group = cluster_->groups_[group_id];
    const PortGroup& ports = *port_group(*group.server, PortUse::backend);
    const SwitchModel& leaf_model = *catalog_.switch_model(fabric_spec(kind).leaf.value);
    const std::optional<Breakout> breakout = given_breakout(manager->breakout);
    const BitRate speed = manager->speed.has_value() ? manager->speed.value
                          : breakout                 ? breakout->speed
                                                     : common_speed(kind, leaf_model, ports, breakout, false);
    const PortMode mode = find_mode(leaf_model, speed, breakout);
    const auto& speeds = ports.speeds.value;
    if (mode.cages == nullptr || std::find(speeds.begin(), speeds.end(), speed) == speeds.end()) {
      diagnostics_.error(manager->place,
                         fmt::format("manager `{}` and leaf {} have no common port at {}", manager->name->text,
                                     fabric_spec(kind).leaf.value, to_text(speed)));
      continue;
    }
    const auto lanes = static_cast<std::uint32_t>(mode.cages->lanes.value);
    std::vector<std::vector<DeviceId>> used(group.count);
    for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(manager->ports.value); ++p) {
      for (std::uint32_t n = 0; n < group.count; ++n) {
        LeafState* chosen = nullptr;
        std::uint32_t best = 0;
        for (const bool repeat : {false, true}) {
          for (LeafState* leaf : leaves) {
            if (!repeat && std::find(used[n].begin(), used[n].end(), leaf->id) != used[n].end()) continue;
            const std::uint32_t at = divide_up(leaf->next_lane, mode.lanes_each) * mode.lanes_each;
            const std::uint32_t top =
                leaf->top_mode == 0 || leaf->top_mode == mode.lanes_each ? leaf->top_lane : leaf->top_lane / lanes * lanes;
            if (leaf->down.cages != mode.cages || at + mode.lanes_each > top) continue;
            // A half-used cage beats any amount of room.
            const std::uint32_t score = at % lanes != 0 ? UINT32_MAX : leaf->top_lane - at;
            if (score > best) {
              best = score;
              chosen = leaf;
            }
          }
          if (chosen != nullptr) break;
        }
        if (chosen == nullptr) {
          diagnostics_.error(manager->place,
                             fmt::format("no free {} port on any {} leaf for manager `{}`", to_text(speed),
                                         to_text(kind), manager->name->text),
                             "leave a place free in the last unit: one server fewer, or a smaller unit");
          return;
        }
        used[n].push_back(chosen->id);
        const std::uint32_t position = divide_up(chosen->next_lane, mode.lanes_each);
        chosen->next_lane = (position + 1) * mode.lanes_each;
        chosen->high_lane = std::max(chosen->high_lane, chosen->next_lane);
        const auto appliance = static_cast<DeviceId>(index_of(group.first) + n);
        const PortId a = add_server_port(appliance, kind, p, p, 0, speed);
        connect(a, add_switch_port(chosen->id, kind, mode, position), CableRole::manager_leaf);
      }
    }
  }
}

void ClusterBuilder::cable_spines(FabricKind kind, std::vector<FabricMember*>& members, const ClosPlan& plan,
                                  std::uint32_t first_spine, std::uint32_t stride, std::uint32_t plane,
                                  std::optional<std::uint32_t> rail) {
  const FabricSpec& fabric = fabric_spec(kind);
  const auto planes = static_cast<std::uint32_t>(fabric.planes.value);
  const BitRate speed = plan_of(kind).uplink_speed;
  const PortMode leaf_up = find_mode(*catalog_.switch_model(fabric.leaf.value), speed);
  const PortMode spine_down = find_mode(*catalog_.switch_model(fabric.spine.value), speed);
  std::vector<std::uint32_t> next(plan.spines(), 0);
  std::size_t ordinal = 0;
  for (std::size_t c = 0; c < members.size(); ++c) {
    FabricMember& member = *members[c];
    const std::uint32_t links = plan.uplinks[c] / plan.spines_per_pod;
    // Uplinks fill the last cages, so that hosts can be added towards them.
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
  const FabricSpec& fabric = fabric_spec(kind);
  const BitRate speed = plan_of(kind).uplink_speed;
  const PortMode spine_up = find_mode(*catalog_.switch_model(fabric.spine.value), speed);
  const PortMode core_down = find_mode(*catalog_.switch_model(fabric.core.value), speed);
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
        // Where cores do not divide the uplinks, a turn that runs on from spine to spine keeps their loads within one
        // link.
        const std::uint32_t within = even ? k / (plan.spine_uplinks / cores) : turn[group]++ % cores;
        const std::uint32_t core = group * cores + within;
        const PortId a = add_switch_port(spine, kind, spine_up, up_first + k);
        connect(a, add_switch_port(static_cast<DeviceId>(first_core + core * stride), kind, core_down, next[core]++),
                CableRole::spine_core);
      }
    }
  }
}

// Spines and cores over all leaves: once for each plane, and for each rail where rails stay apart.
bool ClusterBuilder::interconnect(FabricKind kind, std::vector<FabricMember>& members) {
  const FabricSpec& fabric = fabric_spec(kind);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  const SwitchModel& spine = *catalog_.switch_model(fabric.spine.value);
  const SwitchModel& core = *catalog_.switch_model(fabric.core.value);
  FabricPlan& out = plan_of(kind);
  const PortMode up = find_mode(leaf, out.uplink_speed);
  const bool rail_only = fabric.wiring.value == Wiring::rail_only;
  const std::uint32_t rails = rail_only ? rails_[static_cast<std::size_t>(kind)] : 1;
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
    // Managers and small pools may have taken cages above the unit's own.
    for (const LeafState& state : member.leaves) {
      if (up.cages != state.down.cages) break;
      const auto lanes = static_cast<std::uint32_t>(up.cages->lanes.value);
      const std::uint32_t cages = static_cast<std::uint32_t>(up.cages->count.value) - divide_up(state.high_lane, lanes);
      leaves.uplinks_max = std::min(leaves.uplinks_max, cages * up.per_cage);
    }
    request.classes.push_back(leaves);
    with_leaves.push_back(&member);
  }
  request.spine_ports = find_mode(spine, out.uplink_speed).ports();
  request.core_ports = find_mode(core, out.uplink_speed).ports();
  request.spines_min = static_cast<std::uint32_t>(fabric.spines.has_value() ? fabric.spines.value : 2);
  request.spine_ratio = fabric.spine_oversubscription.value;
  request.tiers = fabric.tiers.value == TierChoice::two ? 2 : fabric.tiers.value == TierChoice::three ? 3 : 0;
  if (request.spine_ports == 0 || request.core_ports == 0) {
    diagnostics_.error(
        fabric.spine.place.known() ? fabric.spine.place : fabric.place,
        fmt::format("{} has no port at the uplink speed {}",
                    request.spine_ports == 0 ? fabric.spine.value : fabric.core.value, to_text(out.uplink_speed)));
    return false;
  }
  auto planned = size_clos(request);
  if (!planned.ok()) {
    diagnostics_.error(fabric.place.known() ? fabric.place : spec_.place,
                       fmt::format("the {} fabric cannot be built: {}", to_text(kind), planned.error().message),
                       "larger spines, a smaller unit, more oversubscription, or other `tiers`");
    return false;
  }
  const ClosPlan& plan = *planned;
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
  const std::uint32_t first_spine = add_tier(Tier::spine, &spine, plan.spines());
  const std::uint32_t first_core = plan.tiers == 3 ? add_tier(Tier::core, &core, plan.cores()) : 0;
  for (std::uint32_t s = 0; s < stride; ++s) {
    const auto rail = rail_only ? std::optional<std::uint32_t>(s / planes) : std::nullopt;
    cable_spines(kind, with_leaves, plan, first_spine + s, stride, s % planes, rail);
    if (plan.tiers == 3) cable_cores(kind, plan, first_spine + s, stride, first_core + s);
  }
  out.tiers = plan.tiers;
  out.spines = plan.spines() * stride;
  out.cores = plan.tiers == 3 ? plan.cores() * stride : 0;
  out.pods = plan.pods;
  for (std::size_t c = 0; c < with_leaves.size(); ++c) {
    for (LeafState& state : with_leaves[c]->leaves) state.uplinks = plan.uplinks[c];
  }
  out.leaf_up = plan.uplinks.front();
  out.links_per_spine = plan.uplinks.front() / plan.spines_per_pod;
  if (plan.tiers == 3) {
    const std::int64_t down = request.spine_ports - plan.spine_uplinks;
    const std::int64_t divisor = std::gcd(down, static_cast<std::int64_t>(plan.spine_uplinks));
    out.spine_oversubscription = Ratio{down / divisor, plan.spine_uplinks / divisor};
  }
  return true;
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
  // Rails: those of the GPU servers on the backend; on storage those of the clients, so that targets fold onto them.
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
  if (fabric.subnets->size() < rails) {
    diagnostics_.error(fabric.subnets.place,
                       fmt::format("{} rails need {} subnets, but there are {}", rails, rails, fabric.subnets->size()));
    return;
  }
  const SwitchModel& leaf_model = *catalog_.switch_model(fabric.leaf.value);
  out.uplink_speed = uplink_speed(fabric, leaf_model, *catalog_.switch_model(fabric.spine.value), out.host_speed);
  const bool one_tier = fits_one_switch(kind, members);
  if (!one_tier && find_mode(leaf_model, out.uplink_speed).cages == nullptr) {
    diagnostics_.error(
        fabric.uplink_speed.place.known() ? fabric.uplink_speed.place : fabric.leaf.place,
        fmt::format("{} has no port at the uplink speed {}", fabric.leaf.value, to_text(out.uplink_speed)));
    return;
  }
  out.tiers = 1;
  out.pods = 1;
  out.wiring = one_tier && kind == FabricKind::backend && fabric.tiers.value == TierChoice::automatic
                   ? Wiring::tor
                   : fabric.wiring.value;
  if (one_tier) {
    // One set of leaves carries every pool: the first pool's, so that its name stays when more sets follow.
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
                         fmt::format("one tier of {} leaves holds {} servers, not {}", fabric.leaf.value,
                                     member.unit_size, cluster_->groups_[member.group].count));
      return;
    }
    add_leaves(kind, member);
    attach_unit_servers(kind, member);
  }
  // Room above the servers: up to the first cage an uplink needs.
  for (FabricMember& member : members) {
    const PortMode up = find_mode(leaf_model, out.uplink_speed);
    for (LeafState& leaf : member.leaves) {
      const auto lanes = static_cast<std::uint32_t>(leaf.down.cages->lanes.value);
      leaf.top_lane = static_cast<std::uint32_t>(leaf.down.cages->count.value) * lanes;
      if (one_tier || up.cages != leaf.down.cages) continue;
      const std::uint32_t down = member.unit_size * member.ports_per_leaf;
      const std::uint32_t uplinks = fabric.uplinks.has_value()
                                        ? static_cast<std::uint32_t>(fabric.uplinks.value)
                                        : uplinks_needed(down, member.speed, out.uplink_speed, member.ratio);
      const std::uint32_t most = std::max(uplinks_left(capacity(leaf.down, up), down), uplinks);
      // Uplinks may still be rounded up to reach every spine: keep their largest possible share, but never a server's
      // place.
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

}  // namespace weft
