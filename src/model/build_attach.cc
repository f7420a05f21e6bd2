// Attaches hosts that share leaves with the servers of a unit: small pools, and the fabric's managers.
#include <fmt/format.h>

#include <algorithm>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft::model {

// Small pools fill leaves from the top. `sets` are groups of leaves that can host them; a port on rail r goes to leaf r
// of the first set with free lanes. Works on copies of the leaves' state, so that a first call can test whether all
// fit.
bool ClusterBuilder::plan_small_servers(FabricKind kind, const std::vector<FabricMember>& members,
                                        std::vector<std::vector<LeafState>>& sets,
                                        std::vector<SmallLink>& links) const {
  const std::uint32_t rails = rails_[static_cast<std::size_t>(kind)];
  std::vector<std::size_t> first_open(rails, 0);
  for (std::size_t m = 0; m < members.size(); ++m) {
    const FabricMember& member = members[m];
    if (!member.small) continue;
    const std::uint32_t lanes = member.down.lanes_each;
    const DeviceGroup& group = cluster_->groups_[member.group];
    for (std::uint32_t n = 0; n < group.count; ++n) {
      for (std::uint32_t p = 0; p < member.links; ++p) {
        bool placed = false;
        std::size_t& open = first_open[p % rails];
        // Earlier sets are permanently full on this rail.
        while (open + 1 < sets.size() && sets[open][(p % rails) % sets[open].size()].top_lane <=
                                             sets[open][(p % rails) % sets[open].size()].next_lane) {
          ++open;
        }
        for (std::size_t s = open; s < sets.size() && !placed; ++s) {
          const std::size_t l = (p % rails) % sets[s].size();
          LeafState& leaf = sets[s][l];
          if (leaf.down.cages != member.down.cages) continue;
          const auto cage = static_cast<std::uint32_t>(leaf.down.cages->lanes.value);
          // A cage has ports of one pool only, so that one type of plug fits them all.
          const bool same = leaf.top_owner == 0 || leaf.top_owner == m + 1;
          const std::uint32_t top = same ? leaf.top_lane : leaf.top_lane / cage * cage;
          const std::uint32_t bottom = divide_up(leaf.next_lane, cage) * cage;
          if (top < bottom + lanes) continue;
          leaf.top_owner = static_cast<std::uint32_t>(m + 1);
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

// Attaches small pools to the first units' leaves if they fit, else to additional sets of leaves.
void ClusterBuilder::attach_small_servers(FabricKind kind, std::vector<FabricMember>& members, bool one_tier) {
  const std::uint32_t rails = rails_[static_cast<std::size_t>(kind)];
  std::vector<std::pair<FabricMember*, std::vector<std::size_t>>> hosts;  // the location of each leaf of a set
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
  // The first unit only: its free lanes never increase with the pool, so leaves added here are never removed again.
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
    // As many sets as the number of lanes requires, and then a few more for partially filled cages.
    std::uint64_t need = 0;
    for (const FabricMember& member : members) {
      if (!member.small) continue;
      need += std::uint64_t{cluster_->groups_[member.group].count} * divide_up(member.links, rails) *
              member.down.lanes_each;
    }
    shared.units = static_cast<std::uint32_t>(std::min<std::uint64_t>(need / std::max(room, 1U), 8000));
    const std::uint32_t last = shared.units + 64;
    for (shared.units = std::max(shared.units, 1U); shared.units <= last && !one_tier && !fits; ++shared.units) {
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
                         fmt::format("the leaves of the {} fabric have too few ports for all servers", to_text(kind)),
                         "set `tiers: 2`, or choose a leaf with ports that all servers can use");
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
      leaf.top_owner = sets[s][l].top_owner;
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

// Managers use ports next to the servers: first in half-used cages, else on the leaf with the most free lanes, and
// never two ports of one appliance on one leaf while another has a free port.
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
            const std::uint32_t top = leaf->top_lane / lanes * lanes;
            if (leaf->down.cages != mode.cages || at + mode.lanes_each > top) continue;
            // A half-used cage has priority over any number of free lanes.
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
                             "leave a port free in the last unit: remove one server, or use a smaller unit");
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

}  // namespace weft::model
