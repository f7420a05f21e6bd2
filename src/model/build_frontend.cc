// Builds the frontend: leaves in pairs, one link per server to each side, and a few spines above the pairs. Pools of
// every kind share the pairs, in file order.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft::model {
// Assigns every server's links, then the uplinks of out-of-band leaves, to pairs with `lanes` lanes per side, and adds
// pairs as needed. Pairs belong to a zone: with end-of-row leaves, a server connects to a pair in its own row. A cage
// has ports of one pool only, so that one type of plug fits. Returns false if a server does not fit into an empty pair.
bool ClusterBuilder::pack_pairs(FrontendSize& size, std::uint32_t lanes, std::uint32_t oob_leaves) {
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  struct Side {
    std::uint32_t next = 0;
    std::size_t owner = SIZE_MAX;
  };
  std::vector<Side> sides;
  size.links.clear();
  size.oob_links.clear();
  size.pair_zone.clear();
  const auto place = [&](const PortMode& mode, std::size_t owner, Side& side, std::uint32_t& position) {
    const std::uint32_t step = side.owner == owner ? mode.lanes_each : mode.lanes_each * mode.per_cage;
    const std::uint32_t at = divide_up(side.next, step) * step;
    if (at + mode.lanes_each > lanes) return false;
    side = {at + mode.lanes_each, owner};
    position = at / mode.lanes_each;
    return true;
  };
  const auto open_pair = [&](std::size_t zone) {
    sides.resize(sides.size() + 2);
    size.pair_zone.push_back(zone);
  };
  // Assigns `count` links of one device to the current pair, or to a new one.
  const auto attach = [&](DeviceId device, std::size_t owner, std::size_t zone, std::uint32_t count, std::uint32_t turn,
                          const PortMode& mode, std::vector<PairLink>& out) {
    for (const bool fresh : {false, true}) {
      if (fresh || size.pair_zone.empty() || size.pair_zone.back() != zone) open_pair(zone);
      const std::size_t pair = size.pair_zone.size() - 1;
      const std::pair<Side, Side> saved{sides[pair * 2], sides[pair * 2 + 1]};
      const std::size_t mark = out.size();
      bool placed = true;
      for (std::uint32_t p = 0; p < count && placed; ++p) {
        const std::uint32_t side = count == 1 ? turn % 2 : p % 2;
        std::uint32_t position = 0;
        placed = place(mode, owner, sides[pair * 2 + side], position);
        out.push_back({device, p, static_cast<std::uint32_t>(pair * 2 + side), position, mode});
      }
      if (placed) return true;
      std::tie(sides[pair * 2], sides[pair * 2 + 1]) = saved;
      out.resize(mark);
    }
    return false;
  };
  std::vector<PortMode> modes(spec_.pools->size());
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const PortGroup* ports = port_group(*cluster_->groups_[pool_groups_[i]].server, PortUse::frontend);
    if (ports != nullptr && spec_.pools.value[i].links->frontend.value > 0) modes[i] = frontend_mode(leaf, *ports);
  }
  for (std::size_t zone = 0; zone < zones_.size(); ++zone) {
    for (const DeviceId id : zones_[zone].servers) {
      const auto pool = static_cast<std::size_t>(cluster_->group_of(id).pool);
      const auto count = static_cast<std::uint32_t>(spec_.pools.value[pool].links->frontend.value);
      if (count > 0 && !attach(id, pool, zone, count, cluster_->device(id).index, modes[pool], size.links))
        return false;
    }
  }
  if (!spec_.fabrics->oob->uplink_to_frontend.value) return true;
  // Out-of-band leaves connect to the pairs of the central zone.
  const PortMode mode = find_mode(leaf, oob_up_mode(*catalog_.switch_model(spec_.fabrics->oob->leaf.value)).speed);
  for (std::uint32_t n = 0; n < oob_leaves; ++n) {
    const auto count = static_cast<std::uint32_t>(spec_.fabrics->oob->uplinks.value);
    if (!attach(kNone<DeviceId>, SIZE_MAX - 1, zones_.size() == 1 ? 0 : SIZE_MAX, count, n, mode, size.oob_links))
      return false;
  }
  for (std::size_t& zone : size.pair_zone) zone = zone == SIZE_MAX ? 0 : zone;
  return true;
}

// The mode of a frontend leaf for the ports of a server.
PortMode ClusterBuilder::frontend_mode(const SwitchModel& leaf, const PortGroup& ports) {
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const auto& speeds = ports.speeds.value;
  const bool asked =
      fabric.speed.has_value() && std::find(speeds.begin(), speeds.end(), fabric.speed.value) != speeds.end();
  const std::optional<Breakout> breakout = given_breakout(fabric.breakout);
  const BitRate speed = asked ? fabric.speed.value : common_speed(FabricKind::frontend, leaf, ports, breakout, false);
  return host_mode(FabricKind::frontend, leaf, ports, speed, breakout, false);
}

ClusterBuilder::FrontendSize ClusterBuilder::size_frontend(std::uint32_t oob_leaves) {
  FrontendSize size;
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  std::uint64_t members = 0;
  PortMode down;
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    const PoolSpec& pool = spec_.pools.value[i];
    if (pool.links->frontend.value == 0) continue;
    members += static_cast<std::uint64_t>(pool.count.value);
    const PortGroup& ports = *port_group(*cluster_->groups_[pool_groups_[i]].server, PortUse::frontend);
    const PortMode mode = frontend_mode(leaf, ports);
    if (mode.cages == nullptr || (down.cages != nullptr && down.cages != mode.cages)) {
      diagnostics_.error(
          fabric.leaf.place.known() ? fabric.leaf.place : pool.place,
          fmt::format(
              "no cable connects {} to the frontend ports of pool `{}` with a cage mode that the other pools share",
              fabric.leaf.value, pool.name->text));
      return size;
    }
    if (down.cages == nullptr) down = mode;
  }
  const bool carries_oob = spec_.fabrics->oob->uplink_to_frontend.value;
  if (members == 0 && !carries_oob) return size;
  if (carries_oob) {
    const PortMode oob_up = oob_up_mode(*catalog_.switch_model(spec_.fabrics->oob->leaf.value));
    const PortMode at_leaf = find_mode(leaf, oob_up.speed);
    if (down.cages == nullptr) down = at_leaf;
    if (oob_up.cages == nullptr || at_leaf.cages == nullptr || at_leaf.cages != down.cages) {
      diagnostics_.error(spec_.fabrics->oob->uplink_to_frontend.place,
                         fmt::format("{} and {} have no common port for out-of-band uplinks",
                                     spec_.fabrics->oob->leaf.value, fabric.leaf.value));
      return size;
    }
  }
  plan_of(FabricKind::frontend).host_speed = down.speed;
  Trunks& trunks = trunks_[static_cast<std::size_t>(FabricKind::frontend)];
  if (!choose_trunks(FabricKind::frontend)) {
    diagnostics_.error(
        fabric.uplink_speed.place.known() ? fabric.uplink_speed.place
        : fabric.leaf.place.known()       ? fabric.leaf.place
                                          : spec_.place,
        fmt::format("no cable connects {} and {} on the frontend", fabric.leaf.value, fabric.spine.value),
        "change `uplink_speed`, `spine` or `media`");
    return size;
  }
  const PortMode& up = trunks.leaf_up;
  trunks.peer = peer_mode(leaf, plan_of(FabricKind::frontend).uplink_speed);
  if (trunks.peer.cages == nullptr && fabric.peer_links.value > 0) {
    diagnostics_.error(fabric.peer_links.place.known() ? fabric.peer_links.place : fabric.place,
                       fmt::format("no cable connects two {} as a pair", fabric.leaf.value),
                       "choose another `leaf`, or set `peer_links: 0`");
    return size;
  }
  const bool shared = up.cages == down.cages;
  const bool peers_shared = trunks.peer.cages == down.cages;
  const auto lanes = static_cast<std::uint32_t>(down.cages->lanes.value);
  const std::uint32_t total = static_cast<std::uint32_t>(down.cages->count.value) * lanes;
  const auto peers = static_cast<std::uint32_t>(fabric.peer_links.value);
  const auto way_out = static_cast<std::uint32_t>(fabric.external->links.value);
  // Lanes left for hosts besides peer links and `ports` other ports; peer links have their own cages.
  const auto room = [&](std::uint32_t ports) -> std::uint32_t {
    const std::uint32_t above = divide_up(ports, up.per_cage);
    const std::uint32_t beside = peers == 0 ? 0 : divide_up(peers, trunks.peer.per_cage);
    const auto count = static_cast<std::uint32_t>(up.cages->count.value);
    if (above + (trunks.peer.cages == up.cages ? beside : 0) > count) return 0;
    const std::uint32_t taken = (shared ? above : 0) + (peers_shared ? beside : 0);
    return taken * lanes >= total ? 0 : total - taken * lanes;
  };
  const bool more_tiers = fabric.tiers.value == TierChoice::two || fabric.tiers.value == TierChoice::three;
  const std::uint32_t alone = room(divide_up(way_out, 2));
  if (!more_tiers && !fabric.uplinks.has_value() && alone > 0 && pack_pairs(size, alone, oob_leaves) &&
      size.pairs() == 1) {
    return size;
  }
  if (fabric.tiers.value == TierChoice::one) {
    diagnostics_.error(fabric.tiers.place, "one pair of leaves has too few ports for the frontend");
    return size;
  }
  ClosRequest request;
  request.spines_min = static_cast<std::uint32_t>(fabric.spines.has_value() ? fabric.spines.value : 2);
  const std::uint32_t reserve = divide_up(way_out, request.spines_min);
  request.spine_ports = trunks.spine_down.ports() - std::min(reserve, trunks.spine_down.ports());
  request.core_ports = trunks.core_down.ports() - std::min(reserve, trunks.core_down.ports());
  request.spine_ratio = fabric.spine_oversubscription.value;
  request.tiers = fabric.tiers.value == TierChoice::two ? 2 : fabric.tiers.value == TierChoice::three ? 3 : 0;
  for (std::uint32_t uplinks = 1; room(uplinks) > 0; ++uplinks) {
    const std::uint32_t hosts = room(uplinks) / down.lanes_each;
    const bool enough = fabric.uplinks.has_value()
                            ? uplinks >= static_cast<std::uint32_t>(fabric.uplinks.value)
                            : uplinks >= uplinks_needed(hosts, down.speed, plan_of(FabricKind::frontend).uplink_speed,
                                                        fabric.oversubscription.value);
    if (!enough) continue;
    if (!pack_pairs(size, room(uplinks), oob_leaves)) break;  // a server does not fit into an empty pair
    request.classes = {{size.pairs(), 2, uplinks, uplinks}};
    auto plan = size_clos(request);
    if (!plan.ok()) continue;
    size.plan = std::move(*plan);
    return size;
  }
  diagnostics_.error(fabric.place.known() ? fabric.place : spec_.place,
                     fmt::format("the frontend cannot be built from {} leaves", fabric.leaf.value),
                     "use a larger `leaf` or `spine`, more oversubscription, or fewer uplinks");
  return size;
}

// The mode between the two leaves of a pair: the same at both ends, at the uplinks' speed or the fastest supported.
PortMode ClusterBuilder::peer_mode(const SwitchModel& leaf, BitRate uplink) {
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const auto mode_at = [&](BitRate speed) {
    return find_mode(leaf, speed, {}, [&](const CageEnd& end) {
      return media_.possible(end, end, speed, fabric.network.value, fabric.media.value, cluster_->media_);
    });
  };
  PortMode best = mode_at(uplink);
  if (best.cages != nullptr) return best;
  for (const CageGroup& cages : leaf.cages.value) {
    for (const Breakout& candidate : cages.breakouts.value) {
      const PortMode mode = mode_at(candidate.speed);
      if (mode.cages != nullptr && (best.cages == nullptr || mode.speed > best.speed)) best = mode;
    }
  }
  return best;
}

// Adds peer links, the tiers above, and the external links.
void ClusterBuilder::cable_pairs(const FrontendSize& size, FabricMember& member) {
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const Trunks& trunks = trunks_[static_cast<std::size_t>(FabricKind::frontend)];
  const PortMode& up = trunks.leaf_up;
  const auto peers = static_cast<std::uint32_t>(fabric.peer_links.value);
  const auto external = divide_up(static_cast<std::uint32_t>(fabric.external->links.value), 2);
  const bool one_pair = size.plan.uplinks.empty();
  // The last cages: uplinks, or external links if there is no tier above; before them the peer links.
  const std::uint32_t last = divide_up(one_pair ? external : size.plan.uplinks.front(), up.per_cage);
  const PortMode& peer = trunks.peer;
  for (std::uint32_t pair = 0; pair < size.pairs() && peers > 0; ++pair) {
    const std::uint32_t above = peer.cages == up.cages ? last * peer.per_cage : 0;
    const std::uint32_t first = peer.ports() - above - divide_up(peers, peer.per_cage) * peer.per_cage;
    for (std::uint32_t k = 0; k < peers; ++k) {
      const PortId a = add_switch_port(frontend_leaves_[pair * 2], FabricKind::frontend, peer, first + k);
      connect(a, add_switch_port(frontend_leaves_[pair * 2 + 1], FabricKind::frontend, peer, first + k),
              CableRole::peer);
    }
  }
  if (one_pair) {
    std::vector<std::uint32_t> next(frontend_leaves_.size(), up.ports() - last * up.per_cage);
    add_external(FabricKind::frontend, frontend_leaves_, up, next);
    return;
  }
  const auto first = static_cast<std::uint32_t>(cluster_->devices_.size());
  std::vector<FabricMember*> members{&member};
  build_tiers(FabricKind::frontend, members, size.plan);
  // The top tier was added last; its ports are used from the first one on.
  const std::uint32_t spines = size.plan.spines();
  const bool three = size.plan.tiers == 3;
  std::vector<DeviceId> top;
  for (std::uint32_t n = 0; n < (three ? size.plan.cores() : spines); ++n) {
    top.push_back(static_cast<DeviceId>(first + (three ? spines : 0) + n));
  }
  std::vector<std::uint32_t> next(top.size(), 0);
  for (const Cable& cable : cluster_->cables_) {
    if (cable.fabric != FabricKind::frontend) continue;
    const std::uint32_t at = index_of(cluster_->port(cable.b).device) - index_of(top.front());
    if (index_of(cluster_->port(cable.b).device) >= index_of(top.front()) && at < next.size()) ++next[at];
  }
  add_external(FabricKind::frontend, top, three ? trunks.core_down : trunks.spine_down, next);
}

// One group for the leaves of the central zone and one per pool's rows: growth of one renumbers no other.
void ClusterBuilder::add_pairs(const FrontendSize& size) {
  std::uint32_t group_id = UINT32_MAX;
  std::size_t number = 0;  // of the pair within its zone
  for (std::uint32_t pair = 0; pair < size.pairs(); ++pair) {
    const Zone& zone = zones_[size.pair_zone[pair]];
    const bool same_zone = pair > 0 && size.pair_zone[pair - 1] == size.pair_zone[pair];
    const bool same_pool = pair > 0 && zones_[size.pair_zone[pair - 1]].pool == zone.pool;
    number = same_zone ? number + 1 : 0;
    const std::string owner = zone.pool < 0 ? "" : spec_.pools.value[static_cast<std::size_t>(zone.pool)].name->text;
    if (!same_pool) {
      DeviceGroup group;
      group.name = owner.empty() ? "fe-leaf" : fmt::format("fe-{}-leaf", owner);
      group.kind = DeviceKind::network_switch;
      group.fabric = FabricKind::frontend;
      group.tier = Tier::leaf;
      group.pool = zone.pool;
      group.network_switch = catalog_.switch_model(fabric_spec(FabricKind::frontend).leaf.value);
      group_id = add_group(std::move(group));
    }
    for (const char* side : {"a", "b"}) {
      const std::string name = owner.empty()
                                   ? fmt::format("fe-leaf{:03}{}", number + 1, side)
                                   : fmt::format("fe-{}-row{:02}-leaf{}{}", owner, zone.row + 1, number + 1, side);
      frontend_leaves_.push_back(add_device(group_id, name));
      const auto n = static_cast<std::uint32_t>(frontend_leaves_.size() - 1);
      dev(frontend_leaves_.back()).rail = static_cast<std::uint16_t>(n % 2);
      if (!owner.empty()) {
        row_number_[index_of(frontend_leaves_.back())] =
            static_cast<std::uint32_t>(zone.row) * kRowStride + static_cast<std::uint32_t>(number) * 2 + n % 2;
      }
    }
  }
}

void ClusterBuilder::build_frontend(const FrontendSize& size) {
  if (size.pairs() == 0) return;
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  FabricPlan& out = plan_of(FabricKind::frontend);
  add_pairs(size);
  FabricMember member;
  member.units = size.pairs();
  member.leaves_per_unit = 2;
  member.first_unit = static_cast<std::uint32_t>(cluster_->units_.size());
  for (std::uint32_t n = 0; n < size.pairs() * 2; ++n) {
    LeafState state;
    state.id = frontend_leaves_[n];
    member.leaves.push_back(state);
    if (n % 2 == 1) continue;
    Unit unit;
    unit.fabric = FabricKind::frontend;
    unit.index = n / 2;
    unit.first_leaf = frontend_leaves_[n];
    unit.leaves = 2;
    cluster_->units_.push_back(unit);
  }
  out.tiers = 1;
  cable_pairs(size, member);
  for (const PairLink& link : size.links) {
    const PortId a = add_server_port(link.device, FabricKind::frontend, link.port, link.port, 0, link.mode.speed);
    connect(a, add_switch_port(frontend_leaves_[link.leaf], FabricKind::frontend, link.mode, link.position),
            CableRole::host_leaf);
    if (link.port == 0) ++cluster_->units_[member.first_unit + link.leaf / 2].servers;
  }
  out.present = true;
  out.network = NetworkKind::ethernet;
  out.wiring = Wiring::pairs;
  out.rails = 1;
  out.pods = std::max(out.pods, 1U);
  out.leaves = size.pairs() * 2;
  if (out.tiers == 1) {
    out.uplink_speed = BitRate(0);
    return;
  }
  const PortMode& up = trunks_[static_cast<std::size_t>(FabricKind::frontend)].leaf_up;
  const PortMode down = size.links.empty() ? up : size.links.front().mode;
  const PortMode& peer = trunks_[static_cast<std::size_t>(FabricKind::frontend)].peer;
  const auto peers = static_cast<std::uint32_t>(fabric.peer_links.value);
  const std::uint32_t taken = divide_up(out.leaf_up, up.per_cage) + (peers > 0 ? divide_up(peers, peer.per_cage) : 0);
  out.leaf_down = down.cages == up.cages ? down.ports() - taken * down.per_cage : down.ports();
  const std::int64_t a = std::int64_t{out.leaf_down} * (down.speed.count() / 1'000'000);
  const std::int64_t b = std::int64_t{out.leaf_up} * (out.uplink_speed.count() / 1'000'000);
  const std::int64_t divisor = std::max<std::int64_t>(1, std::gcd(a, b));
  out.oversubscription = Ratio{a / divisor, b / divisor};
}

// External links, distributed over the top tier. Their far end belongs to the site, a device without hardware here.
void ClusterBuilder::add_external(FabricKind kind, const std::vector<DeviceId>& top, const PortMode& mode,
                                  std::vector<std::uint32_t>& next_port) {
  const FabricSpec& fabric = fabric_spec(kind);
  const auto links = static_cast<std::uint32_t>(fabric.external->links.value);
  if (links == 0) return;
  PortMode used = mode;
  if (fabric.external->speed.has_value() && fabric.external->speed.value != mode.speed) {
    diagnostics_.error(fabric.external->speed.place,
                       fmt::format("external links run at the uplink speed, {}", to_text(mode.speed)));
    return;
  }
  DeviceGroup group;
  group.name = fmt::format("{}-site", short_name(kind));
  group.kind = DeviceKind::external;
  group.fabric = kind;
  const std::uint32_t id = add_group(std::move(group));
  const DeviceId site = add_device(id, fmt::format("{}-site", short_name(kind)));
  for (std::uint32_t k = 0; k < links; ++k) {
    const std::size_t at = k % top.size();
    if (next_port[at] >= used.ports()) {
      diagnostics_.error(fabric.external->links.place, fmt::format("no free port for {} external links", links));
      return;
    }
    const PortId a = add_switch_port(top[at], kind, used, next_port[at]++);
    const PortId b = add_port(site, kind, k, 0, used.lanes_each, used.speed);
    connect(a, b, CableRole::external);
  }
}

}  // namespace weft::model
