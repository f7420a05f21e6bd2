// The frontend: leaves stand in pairs, each server has one link to either side, and pairs hang off a few spines. Pools
// of every kind share the pairs, in the order of the file.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft {
namespace {

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

BitRate fastest_common(const SwitchModel& a, const SwitchModel& b) {
  BitRate best(0);
  for (const CageGroup& cages : a.cages.value) {
    for (const Breakout& mode : cages.breakouts.value) {
      if (mode.speed > best && find_mode(b, mode.speed).cages != nullptr) best = mode.speed;
    }
  }
  return best;
}

}  // namespace

// Lays every server's links, then the uplinks of out-of-band leaves, onto `pairs` pairs with `lanes` lanes a side.
bool ClusterBuilder::pack_pairs(FrontendSize& size, std::uint32_t pairs, std::uint32_t lanes,
                                std::uint32_t oob_leaves) {
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  std::vector<std::uint32_t> next(std::size_t{pairs} * 2, 0);
  size.links.clear();
  std::uint32_t from = 0;  // pairs before this one are full
  const auto place = [&](const PortMode& mode, std::uint32_t pair, std::uint32_t side, std::uint32_t& position) {
    std::uint32_t& lane = next[pair * 2 + side];
    const std::uint32_t at = divide_up(lane, mode.lanes_each) * mode.lanes_each;
    if (at + mode.lanes_each > lanes) return false;
    lane = at + mode.lanes_each;
    position = at / mode.lanes_each;
    return true;
  };
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    const PoolSpec& pool = spec_.pools.value[i];
    const auto count = static_cast<std::uint32_t>(pool.links->frontend.value);
    if (count == 0) continue;
    const DeviceGroup& group = cluster_->groups_[pool_groups_[i]];
    const PortGroup& ports = *port_group(*group.server, PortUse::frontend);
    const bool asked = fabric.speed.has_value() &&
                       std::find(ports.speeds->begin(), ports.speeds->end(), fabric.speed.value) != ports.speeds->end();
    std::optional<Breakout> breakout =
        fabric.breakout.has_value() ? std::optional<Breakout>(fabric.breakout.value) : std::nullopt;
    const BitRate speed = asked ? fabric.speed.value : common_speed(FabricKind::frontend, leaf, ports, breakout, false);
    const PortMode mode = host_mode(FabricKind::frontend, leaf, ports, speed, breakout, false);
    if (mode.cages == nullptr) return false;
    size.host_speed = std::max(size.host_speed, speed);
    for (std::uint32_t n = 0; n < group.count; ++n) {
      bool placed = false;
      for (std::uint32_t pair = from; pair < pairs && !placed; ++pair) {
        const auto saved = std::pair(next[pair * 2], next[pair * 2 + 1]);
        const std::size_t mark = size.links.size();
        placed = true;
        for (std::uint32_t p = 0; p < count && placed; ++p) {
          const std::uint32_t side = count == 1 ? n % 2 : p % 2;
          std::uint32_t position = 0;
          placed = place(mode, pair, side, position);
          size.links.push_back({static_cast<DeviceId>(index_of(group.first) + n), p, pair * 2 + side, position, mode});
        }
        if (placed) continue;
        std::tie(next[pair * 2], next[pair * 2 + 1]) = saved;
        size.links.resize(mark);
        if (pair == from && pair + 1 < pairs) ++from;
      }
      if (!placed) return false;
    }
  }
  size.oob_leaf_lanes = next;
  if (!spec_.fabrics->oob->uplink_to_frontend.value) return true;
  const PortMode mode = find_mode(leaf, oob_up_mode(*catalog_.switch_model(spec_.fabrics->oob->leaf.value)).speed);
  std::uint32_t pair = 0;
  for (std::uint32_t n = 0; n < oob_leaves; ++n) {
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(spec_.fabrics->oob->uplinks.value); ++k) {
      std::uint32_t position = 0;
      while (pair < pairs && !place(mode, pair, k % 2, position)) ++pair;
      if (pair == pairs) return false;
    }
  }
  return true;
}

ClusterBuilder::FrontendSize ClusterBuilder::size_frontend(std::uint32_t oob_leaves) {
  FrontendSize size;
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
  const SwitchModel& spine = *catalog_.switch_model(fabric.spine.value);
  std::uint64_t members = 0;
  PortMode down;
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    const PoolSpec& pool = spec_.pools.value[i];
    if (pool.links->frontend.value == 0) continue;
    members += static_cast<std::uint64_t>(pool.count.value);
    const PortGroup& ports = *port_group(*cluster_->groups_[pool_groups_[i]].server, PortUse::frontend);
    const bool asked = fabric.speed.has_value() &&
                       std::find(ports.speeds->begin(), ports.speeds->end(), fabric.speed.value) != ports.speeds->end();
    const std::optional<Breakout> breakout =
        fabric.breakout.has_value() ? std::optional<Breakout>(fabric.breakout.value) : std::nullopt;
    const BitRate speed = asked ? fabric.speed.value : common_speed(FabricKind::frontend, leaf, ports, breakout, false);
    const PortMode mode = host_mode(FabricKind::frontend, leaf, ports, speed, breakout, false);
    if (mode.cages == nullptr || (down.cages != nullptr && down.cages != mode.cages)) {
      diagnostics_.error(
          fabric.leaf.place.known() ? fabric.leaf.place : pool.place,
          fmt::format("{} has no cage that a cable joins to the frontend ports of pool `{}` and that the others share",
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
  size.uplink_speed = fabric.uplink_speed.has_value() ? fabric.uplink_speed.value : fastest_common(leaf, spine);
  const PortMode up = find_mode(leaf, size.uplink_speed);
  if (up.cages == nullptr || find_mode(spine, size.uplink_speed).cages == nullptr) {
    diagnostics_.error(fabric.uplink_speed.place.known() ? fabric.uplink_speed.place : fabric.leaf.place,
                       fmt::format("{} and {} have no common uplink speed", fabric.leaf.value, fabric.spine.value));
    return size;
  }
  const bool shared = up.cages == down.cages;
  const auto lanes = static_cast<std::uint32_t>(down.cages->lanes.value);
  const std::uint32_t total = static_cast<std::uint32_t>(down.cages->count.value) * lanes;
  const auto peers = static_cast<std::uint32_t>(fabric.peer_links.value);
  const auto external =
      static_cast<std::uint32_t>(divide_up(static_cast<std::uint32_t>(fabric.external->links.value), 2));
  const auto kept = [&](std::uint32_t ports) { return shared ? divide_up(ports, up.per_cage) * lanes : 0; };
  const auto beyond = [&](std::uint32_t ports) { return kept(ports) >= total || (!shared && ports > up.ports()); };
  // One pair, if everything fits beside its peer links and the way out.
  if (fabric.tiers.value != TierChoice::two && fabric.tiers.value != TierChoice::three && !fabric.uplinks.has_value() &&
      !beyond(peers + external) && pack_pairs(size, 1, total - kept(peers + external), oob_leaves)) {
    size.pairs = 1;
    return size;
  }
  if (fabric.tiers.value == TierChoice::one) {
    diagnostics_.error(fabric.tiers.place, "one pair of leaves has too few ports for the frontend");
    return size;
  }
  for (auto spines = static_cast<std::uint32_t>(fabric.spines.has_value() ? fabric.spines.value : 2); spines <= 64;
       ++spines) {
    std::uint32_t uplinks = 0;
    for (std::uint32_t u = spines; !beyond(u + peers) && uplinks == 0; u += spines) {
      const std::uint32_t hosts = (total - kept(u + peers)) / down.lanes_each;
      const bool enough = fabric.uplinks.has_value() ? u >= static_cast<std::uint32_t>(fabric.uplinks.value)
                                                     : u >= uplinks_needed(hosts, down.speed, size.uplink_speed,
                                                                           fabric.oversubscription.value);
      if (enough) uplinks = u;
    }
    if (uplinks == 0) break;
    std::uint32_t pairs = 1;
    const std::uint32_t room = total - kept(uplinks + peers);
    const std::uint64_t most = members * 4 + oob_leaves + 1;
    while (!pack_pairs(size, pairs, room, oob_leaves) && pairs <= most) {
      // Lanes in total give a first guess; packing decides.
      pairs = pairs == 1 ? std::max(2U, static_cast<std::uint32_t>(members * down.lanes_each / std::max(room, 1U)))
                         : pairs + 1;
    }
    const std::uint64_t links = std::uint64_t{pairs} * 2 * (uplinks / spines);
    const std::uint32_t way_out = divide_up(static_cast<std::uint32_t>(fabric.external->links.value), spines);
    if (links + way_out > find_mode(spine, size.uplink_speed).ports()) continue;
    size.pairs = pairs;
    size.uplinks = uplinks;
    size.spines = spines;
    return size;
  }
  diagnostics_.error(fabric.place.known() ? fabric.place : spec_.place,
                     "the frontend cannot be built: too many pairs of leaves for its spines",
                     "a larger `spine`, more oversubscription, or fewer uplinks");
  return size;
}

void ClusterBuilder::cable_pairs(const FrontendSize& size) {
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const PortMode up = find_mode(*catalog_.switch_model(fabric.leaf.value), size.uplink_speed);
  const PortMode down = find_mode(*catalog_.switch_model(fabric.spine.value), size.uplink_speed);
  const auto peers = static_cast<std::uint32_t>(fabric.peer_links.value);
  // The last cages: peer links, then uplinks, or the way out where there is no spine.
  const auto external = size.spines > 0 ? 0 : divide_up(static_cast<std::uint32_t>(fabric.external->links.value), 2);
  const std::uint32_t up_first = up.ports() - divide_up(peers + size.uplinks + external, up.per_cage) * up.per_cage;
  for (std::uint32_t pair = 0; pair < size.pairs; ++pair) {
    for (std::uint32_t k = 0; k < peers; ++k) {
      const PortId a = add_switch_port(frontend_leaves_[pair * 2], FabricKind::frontend, up, up_first + k);
      connect(a, add_switch_port(frontend_leaves_[pair * 2 + 1], FabricKind::frontend, up, up_first + k),
              CableRole::peer);
    }
  }
  std::vector<DeviceId> top;
  std::vector<std::uint32_t> next;
  if (size.spines > 0) {
    DeviceGroup group;
    group.name = "fe-spine";
    group.kind = DeviceKind::network_switch;
    group.fabric = FabricKind::frontend;
    group.tier = Tier::spine;
    group.network_switch = catalog_.switch_model(fabric.spine.value);
    const std::uint32_t id = add_group(std::move(group));
    for (std::uint32_t s = 0; s < size.spines; ++s) top.push_back(add_device(id, fmt::format("fe-spine{:03}", s + 1)));
    next.assign(top.size(), 0);
    const std::uint32_t each = size.uplinks / size.spines;
    for (const DeviceId leaf : frontend_leaves_) {
      for (std::uint32_t k = 0; k < size.uplinks; ++k) {
        const std::uint32_t spine = k / each;
        const PortId a = add_switch_port(leaf, FabricKind::frontend, up, up_first + peers + k);
        connect(a, add_switch_port(top[spine], FabricKind::frontend, down, next[spine]++), CableRole::leaf_spine);
      }
    }
    add_external(FabricKind::frontend, top, down, next);
  } else {
    top = frontend_leaves_;
    next.assign(top.size(), up_first + peers);
    add_external(FabricKind::frontend, top, up, next);
  }
}

void ClusterBuilder::build_frontend(const FrontendSize& size) {
  if (size.pairs == 0) return;
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  FabricPlan& out = plan_of(FabricKind::frontend);
  DeviceGroup group;
  group.name = "fe-leaf";
  group.kind = DeviceKind::network_switch;
  group.fabric = FabricKind::frontend;
  group.tier = Tier::leaf;
  group.network_switch = catalog_.switch_model(fabric.leaf.value);
  const std::uint32_t id = add_group(std::move(group));
  for (std::uint32_t n = 0; n < size.pairs * 2; ++n) {
    frontend_leaves_.push_back(add_device(id, fmt::format("fe-leaf{:03}{}", n / 2 + 1, n % 2 == 0 ? "a" : "b")));
    dev(frontend_leaves_.back()).rail = static_cast<std::uint16_t>(n % 2);
  }
  cable_pairs(size);
  for (const PairLink& link : size.links) {
    const PortId a = add_server_port(link.device, FabricKind::frontend, link.port, link.port, 0, link.mode.speed);
    connect(a, add_switch_port(frontend_leaves_[link.leaf], FabricKind::frontend, link.mode, link.position),
            CableRole::host_leaf);
  }
  out.present = true;
  out.network = NetworkKind::ethernet;
  out.wiring = Wiring::pairs;
  out.tiers = size.spines > 0 ? 2 : 1;
  out.rails = 1;
  out.pods = 1;
  out.leaves = size.pairs * 2;
  out.spines = size.spines;
  out.leaf_up = size.uplinks;
  out.links_per_spine = size.spines > 0 ? size.uplinks / size.spines : 0;
  out.host_speed = size.host_speed;
  out.uplink_speed = size.uplink_speed;
  if (size.spines > 0) {
    const SwitchModel& leaf = *catalog_.switch_model(fabric.leaf.value);
    const PortMode down = find_mode(leaf, size.host_speed.count() > 0 ? size.host_speed : size.uplink_speed);
    const PortMode up = find_mode(leaf, size.uplink_speed);
    const auto reserved = size.uplinks + static_cast<std::uint32_t>(fabric.peer_links.value);
    out.leaf_down =
        down.cages == up.cages ? down.ports() - divide_up(reserved, up.per_cage) * down.per_cage : down.ports();
    const std::int64_t a = std::int64_t{out.leaf_down} * (down.speed.count() / 1'000'000);
    const std::int64_t b = std::int64_t{out.leaf_up} * (out.uplink_speed.count() / 1'000'000);
    const std::int64_t divisor = std::max<std::int64_t>(1, std::gcd(a, b));
    out.oversubscription = Ratio{a / divisor, b / divisor};
  }
}

// Links out of the room, dealt over the top tier. Their far end is the site's, a device without hardware here.
void ClusterBuilder::add_external(FabricKind kind, const std::vector<DeviceId>& top, const PortMode& mode,
                                  std::vector<std::uint32_t>& next_port) {
  const FabricSpec& fabric = fabric_spec(kind);
  const auto links = static_cast<std::uint32_t>(fabric.external->links.value);
  if (links == 0) return;
  PortMode used = mode;
  if (fabric.external->speed.has_value() && fabric.external->speed.value != mode.speed) {
    diagnostics_.error(fabric.external->speed.place,
                       fmt::format("links out of the room run at the uplink speed, {}", to_text(mode.speed)));
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
      diagnostics_.error(fabric.external->links.place,
                         fmt::format("no port is left for {} links out of the room", links));
      return;
    }
    const PortId a = add_switch_port(top[at], kind, used, next_port[at]++);
    const PortId b = add_port(site, kind, k, 0, used.lanes_each, used.speed);
    connect(a, b, CableRole::external);
  }
}

}  // namespace weft
