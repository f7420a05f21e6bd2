// The cluster file's intent: segments, VRFs, access to the BMCs, and intended connections between fabrics.
#include <fmt/format.h>

#include <algorithm>

#include "check/reach/reachability_model.h"

namespace weft::check {
namespace {

constexpr model::FabricKind kAllFabrics[] = {model::FabricKind::backend, model::FabricKind::storage,
                                             model::FabricKind::frontend, model::FabricKind::oob};

// Whether switches route between the rails. With spines they do, unless the rails are isolated on purpose; with a
// single tier, only if the rails share a leaf.
bool joins_rails(const model::FabricPlan& plan) {
  if (plan.rails <= 1) return true;
  if (plan.wiring == model::Wiring::rail_only) return false;
  return plan.tiers >= 2 || plan.leaves <= 1 || plan.wiring != model::Wiring::rail_optimized;
}

bool is_management_port(const model::DeviceGroup& group,
                        const model::Port& port) {  // of an operating system, not a BMC
  return group.kind == model::DeviceKind::server && port.fabric == model::FabricKind::oob && port.rail > 0;
}

}  // namespace

const model::Sourced<model::Name>& ReachModel::vrf_of(model::FabricKind kind) const {
  const model::FabricSpec* spec = cluster->find_fabric_spec(kind);
  return spec != nullptr ? spec->vrf : cluster->spec().fabrics->oob->vrf;
}

NodeId ReachModel::vrf_node(model::FabricKind kind, const model::Device* device) const {
  const std::vector<NodeId>& all = vrfs[static_cast<std::size_t>(kind)];
  if (all.empty()) return kNoNode;
  const std::size_t rail = device != nullptr ? device->rail : 0;
  return all[all.size() == 1 || rail >= all.size() ? 0 : rail];
}

NodeId ReachModel::add_node(std::string name, int fabric, bool routes) {
  nodes.push_back({std::move(name), fabric, routes});
  out_edges.emplace_back();
  return static_cast<NodeId>(nodes.size() - 1);
}

void ReachModel::add_edge(ReachEdge edge) {
  if (edge.from == kNoNode || edge.to == kNoNode || edge.from == edge.to) return;
  out_edges[edge.from].push_back(static_cast<std::uint32_t>(edges.size()));
  edges.push_back(std::move(edge));
}

std::uint32_t ReachModel::cross(CrossingKind kind, NodeId from, NodeId to, Crossing::Member member) {
  const auto key = std::make_pair(std::make_pair(static_cast<int>(kind), from), to);
  const auto [found, fresh] = crossing_index_.try_emplace(key, static_cast<std::uint32_t>(crossings.size()));
  if (fresh) crossings.push_back({kind, nodes[from].name, nodes[to].name, {}});
  std::vector<Crossing::Member>& members = crossings[found->second].members;
  const auto same = [&](const Crossing::Member& old) {
    return old.device == member.device && old.place == member.place;
  };
  if (std::none_of(members.begin(), members.end(), same)) members.push_back(std::move(member));
  return found->second;
}

const AddressSpace* ReachModel::space_of(Ipv4 address) const {
  auto after = std::upper_bound(spaces.begin(), spaces.end(), address.bits,
                                [](std::uint32_t bits, const AddressSpace& space) { return bits < space.range.low; });
  if (after == spaces.begin()) return nullptr;
  --after;
  return after->range.contains(address.bits) ? &*after : nullptr;
}

ReachModel::ReachModel(const model::Cluster* given, const config::ConfigSet& configuration)
    : cluster(given), config(configuration) {
  if (cluster == nullptr) return;
  site = add_node("the site's network", -1, true);
  add_fabrics();
  add_spaces();
  add_zones();
  add_samples();
  make_jump_list();
  gateway_configured_.assign(segments.size(), false);
  ports_configured_.assign(segments.size(), false);
  add_switches();
  add_intended_gateways();
  add_intended_crossings();
  add_oob_ways_out();
  add_hosts();
  add_pods();
}

void ReachModel::add_segment(model::FabricKind kind, std::uint32_t rail, const Ipv4Prefix& prefix, int vlan) {
  ReachSegment segment;
  segment.fabric = kind;
  segment.rail = rail;
  segment.prefix = prefix;
  segment.vlan = vlan;
  const bool rails = kind == model::FabricKind::backend || kind == model::FabricKind::storage;
  const std::string name =
      rails ? fmt::format("{} rail {}", model::to_text(kind), rail + 1) : std::string(model::to_text(kind));
  segment.in = add_node(name, static_cast<int>(kind), false);
  segment.out = add_node(name, static_cast<int>(kind), false);
  const std::vector<NodeId>& all = vrfs[static_cast<std::size_t>(kind)];
  if (!all.empty()) segment.vrf = all[all.size() == 1 ? 0 : std::min<std::size_t>(rail, all.size() - 1)];
  segments.push_back(std::move(segment));
}

void ReachModel::add_fabrics() {
  for (const model::FabricKind kind : kAllFabrics) {
    const auto slot = static_cast<std::size_t>(kind);
    const model::FabricPlan& plan = cluster->fabric(kind);
    if (!plan.present) continue;
    joined[slot] = joins_rails(plan);
    const std::uint32_t count = joined[slot] ? 1 : plan.rails;
    for (std::uint32_t r = 0; r < count && plan.network == model::NetworkKind::ethernet; ++r) {
      const std::string suffix = count > 1 ? fmt::format(" rail {}", r + 1) : "";
      vrfs[slot].push_back(
          add_node(fmt::format("VRF `{}`{}", vrf_of(kind)->text, suffix), static_cast<int>(slot), true));
    }
    const model::FabricSpec* spec = cluster->find_fabric_spec(kind);
    if (spec == nullptr) {
      const model::OobSpec& oob = *cluster->spec().fabrics->oob;
      add_segment(kind, 0, *oob.subnet, static_cast<int>(*oob.vlan));
      continue;
    }
    const std::size_t rails = std::min<std::size_t>(std::max(plan.rails, 1U), spec->subnets->size());
    for (std::size_t r = 0; r < rails; ++r) {
      add_segment(kind, static_cast<std::uint32_t>(r), (*spec->subnets)[r],
                  static_cast<int>(*spec->vlan) + static_cast<int>(r));
    }
  }
}

void ReachModel::add_spaces() {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    spaces.push_back({interval_of(segments[i].prefix), segments[i].fabric, static_cast<int>(i)});
  }
  for (const model::FabricKind kind : kAllFabrics) {
    const model::FabricSpec* spec = cluster->find_fabric_spec(kind);
    if (spec == nullptr || !cluster->fabric(kind).present) continue;
    if (spec->loopbacks.has_value()) spaces.push_back({interval_of(*spec->loopbacks), kind, -1});
    if (*spec->switch_links == model::LinkAddressing::numbered && spec->switch_link_subnet.has_value()) {
      spaces.push_back({interval_of(*spec->switch_link_subnet), kind, -1});
    }
  }
  std::sort(spaces.begin(), spaces.end(),
            [](const AddressSpace& a, const AddressSpace& b) { return a.range.low < b.range.low; });
}

void ReachModel::add_zones() {
  std::vector<Interval> jump;
  for (const model::DeviceGroup& group : cluster->groups()) {
    if (group.kind != model::DeviceKind::server || group.pool < 0) continue;
    if (*cluster->spec().pools->at(static_cast<std::size_t>(group.pool)).role != model::PoolRole::jump) continue;
    for (std::uint32_t n = 0; n < group.count; ++n) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + n);
      for (const model::PortId port_id : cluster->ports_of(id)) {
        const model::Port& port = cluster->port(port_id);
        if (is_management_port(group, port) && port.address.bits != 0)
          jump.push_back({port.address.bits, port.address.bits});
      }
    }
  }
  jump = join_intervals(std::move(jump));
  std::vector<Interval> planned;
  for (const AddressSpace& space : spaces) planned.push_back(space.range);
  for (const model::FabricKind kind : kAllFabrics) {
    if (!cluster->fabric(kind).present) continue;
    ReachZone zone{static_cast<ZoneKind>(kind), std::string(model::to_text(kind)), static_cast<int>(kind), {}};
    for (const ReachSegment& segment : segments) {
      if (segment.fabric == kind) zone.addresses.push_back(interval_of(segment.prefix));
    }
    if (kind == model::FabricKind::oob && !jump.empty()) {
      std::vector<Interval> holes = complement(zone.addresses);
      holes.insert(holes.end(), jump.begin(), jump.end());
      zone.addresses = complement(holes);
    }
    zones.push_back(std::move(zone));
  }
  if (!jump.empty()) zones.push_back({ZoneKind::jump, "jump", static_cast<int>(model::FabricKind::oob), jump});
  zones.push_back({ZoneKind::site, "site", -1, complement(planned)});
}

void ReachModel::add_samples() {
  std::size_t missing = 2 * segments.size();
  for (std::size_t i = 0; i < cluster->ports().size() && missing > 0; ++i) {
    const auto id = static_cast<model::PortId>(i);
    const model::Port& port = cluster->port(id);
    if (port.address.bits == 0 || cluster->group_of(port.device).kind != model::DeviceKind::server) continue;
    if (is_management_port(cluster->group_of(port.device), port)) continue;
    const AddressSpace* space = space_of(port.address);
    if (space == nullptr || space->segment < 0) continue;
    ReachSegment& segment = segments[static_cast<std::size_t>(space->segment)];
    const bool has_first = segment.first.address.bits != 0;
    if (has_first && (segment.second.address.bits != 0 || segment.first.device == port.device)) continue;
    (has_first ? segment.second : segment.first) = {cluster->full_port_name(id), port.device, port.address};
    --missing;
  }
}

// `jump_only`: jump hosts reach everything here, replies and reports go to them, all else is denied.
void ReachModel::make_jump_list() {
  const model::OobSpec& oob = *cluster->spec().fabrics->oob;
  jump_list_.name = "jump_only";
  jump_list_.place = oob.jump_only.place.known() ? oob.jump_only.place : oob.place;
  jump_list_.permit_rest = true;  // transit traffic
  const auto add = [&](bool permit, const Ipv4Prefix& source, const Ipv4Prefix& destination) {
    config::AclRule rule;
    rule.place = jump_list_.place;
    rule.sequence = static_cast<std::int64_t>(jump_list_.rules.size() + 1) * 10;
    rule.permit = permit;
    rule.source = source;
    rule.destination = destination;
    jump_list_.rules.push_back(rule);
  };
  for (const ReachZone& zone : zones) {
    if (zone.kind != ZoneKind::jump) continue;
    for (const Interval& range : zone.addresses) {
      for (const Ipv4Prefix& prefix : prefixes_of(range)) {
        add(true, prefix, Ipv4Prefix{});
        add(true, Ipv4Prefix{}, prefix);
      }
    }
  }
  add(false, Ipv4Prefix{}, *oob.subnet);
}

void ReachModel::add_intended_gateways() {
  const model::OobSpec& oob = *cluster->spec().fabrics->oob;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const ReachSegment& segment = segments[i];
    const bool guarded = segment.fabric == model::FabricKind::oob && *oob.jump_only;
    const model::FabricSpec* spec = cluster->find_fabric_spec(segment.fabric);
    SourceLocation place = spec == nullptr ? (oob.subnet.place.known() ? oob.subnet.place : oob.place)
                                           : (spec->subnets.place.known() ? spec->subnets.place : spec->place);
    std::vector<const config::AclConfig*> acls;
    if (guarded) acls.push_back(&jump_list_);
    const bool open = spec == nullptr && !guarded;
    if (open && oob.jump_only.place.known()) place = oob.jump_only.place;
    const std::string filter = open ? ", no access list" : "";
    const std::vector<Interval> here{interval_of(segment.prefix)};
    if (!ports_configured_[i]) {
      const std::string what = fmt::format("within VLAN {} {}{}", segment.vlan, to_text(segment.prefix), filter);
      add_edge({segment.in, segment.out, here, acls, kNoCrossing, {nodes[segment.in].name, what, place}});
    }
    if (segment.vrf == kNoNode || gateway_configured_[i]) continue;
    const std::string& vrf = nodes[segment.vrf].name;
    add_edge({segment.in, segment.vrf, {}, {}, kNoCrossing, {vrf, "gateway of " + to_text(segment.prefix), place}});
    add_edge({segment.vrf,
              segment.out,
              here,
              acls,
              kNoCrossing,
              {vrf, "connected to " + to_text(segment.prefix) + filter, place}});
  }
}

void ReachModel::add_intended_crossings() {
  const auto join = [&](CrossingKind kind, NodeId a, NodeId b, const SourceLocation& place, const std::string& device,
                        const std::string& what) {
    const std::uint32_t crossing = cross(kind, a, b, {device, place, what});
    add_edge({a, b, {}, {}, crossing, {nodes[a].name, what, place}});
    add_edge({b, a, {}, {}, crossing, {nodes[b].name, what, place}});
  };
  for (const model::FabricKind kind :
       {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend}) {
    const model::FabricSpec& spec = cluster->data_fabric_spec(kind);
    if (!cluster->fabric(kind).present) continue;
    const std::string name(model::to_text(kind));
    for (const model::FabricKind other : kAllFabrics) {
      const auto& wanted = *spec.routes_to;
      if (other == kind || std::find(wanted.begin(), wanted.end(), model::to_text(other)) == wanted.end()) continue;
      for (const NodeId a : vrfs[static_cast<std::size_t>(kind)]) {
        for (const NodeId b : vrfs[static_cast<std::size_t>(other)]) {
          join(CrossingKind::routes_to, a, b, spec.routes_to.place, name,
               fmt::format("`routes_to` exchanges routes between {} and {}", name, model::to_text(other)));
        }
      }
    }
    if (*spec.external->links <= 0) continue;
    for (const NodeId vrf : vrfs[static_cast<std::size_t>(kind)]) {
      const std::string what = fmt::format("{} links from the {} to the site", *spec.external->links, name);
      if (kind != model::FabricKind::frontend) {
        join(CrossingKind::external, vrf, site, spec.external->links.place, name, what);
        continue;
      }
      const SourceLocation& place = spec.external->links.place;
      add_edge({vrf, site, {}, {}, kNoCrossing, {nodes[vrf].name, what + ", default route", place}});
      add_edge({site, vrf, {}, {}, kNoCrossing, {nodes[site].name, what, place}});
    }
  }
}

void ReachModel::add_oob_ways_out() {
  const model::OobSpec& oob = *cluster->spec().fabrics->oob;
  const NodeId own = vrf_node(model::FabricKind::oob, nullptr);
  const NodeId frontend = vrf_node(model::FabricKind::frontend, nullptr);
  const auto join = [&](CrossingKind kind, NodeId other, const SourceLocation& place, const std::string& what) {
    if (own == kNoNode || other == kNoNode) return;
    const std::uint32_t crossing = cross(kind, own, other, {"oob", place, what});
    add_edge({own, other, {}, {}, crossing, {nodes[own].name, what, place}});
    add_edge({other, own, {}, {}, crossing, {nodes[other].name, what, place}});
  };
  if (*oob.gateway == model::Whereabouts::frontend) {
    join(CrossingKind::oob_gateway, frontend, oob.gateway.place, "`gateway: frontend` routes between oob and frontend");
  } else if (*oob.gateway == model::Whereabouts::site) {
    join(CrossingKind::oob_gateway, site, oob.gateway.place, "`gateway: site` routes between oob and the site");
  }
  if (!*oob.uplink_to_frontend || frontend == kNoNode) return;
  shared.push_back("frontend leaves carry the out-of-band network (`oob.uplink_to_frontend`)");
  if (oob.vrf->text == vrf_of(model::FabricKind::frontend)->text) {
    const SourceLocation& place = oob.vrf.place.known() ? oob.vrf.place : vrf_of(model::FabricKind::frontend).place;
    join(CrossingKind::shared_vrf, frontend, place,
         fmt::format("VRF `{}` contains both networks on the frontend leaves", oob.vrf->text));
  }
}

}  // namespace weft::check
