#include "render/switches/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;
constexpr std::uint32_t kEverywhere = 0xFFFFFFFEU;
// Of the numbers that build_addresses.cc keeps free at the start of the out-of-band subnet (16), by convention: .10
// logs, .11 time, .12 names; those of the frontend (10) hold the gateway and two addresses for each of four pairs.
constexpr std::uint32_t kNumberedPairs = 4;

LinkUse use_of(model::CableRole role) {
  switch (role) {
    case model::CableRole::host_leaf:
    case model::CableRole::manager_leaf:
    case model::CableRole::back_to_back:
      return LinkUse::host;
    case model::CableRole::leaf_spine:
    case model::CableRole::spine_core:
      return LinkUse::fabric;
    case model::CableRole::peer:
      return LinkUse::pair;
    case model::CableRole::external:
      return LinkUse::external;
    case model::CableRole::oob_uplink:
    case model::CableRole::oob_frontend:
      return LinkUse::trunk;
  }
  return LinkUse::host;
}

Ipv4Prefix host_prefix(Ipv4 address) { return {address, 32}; }

}  // namespace

std::uint32_t SwitchView::equal_paths() const {
  constexpr std::uint32_t kMax = 64;  // what both systems take
  constexpr std::uint32_t kNodes = 16;
  return std::clamp<std::uint32_t>(std::max(fabric_links, node_asn != 0 ? kNodes : 1U), 1, kMax);
}

int SwitchView::root_priority() const {
  if (!is_oob() || group->tier == model::Tier::leaf) return 0;
  const int first = group->tier == model::Tier::core ? 4096 : 12288;
  return first + (device->index == 0 ? 0 : 4096);
}

SwitchSurvey::SwitchSurvey(const RenderInput& input) : input_(input) {
  find_pairs();
  find_homes();
  make_guard();
}

void SwitchSurvey::find_pairs() {
  const model::Cluster& cluster = input_.cluster;
  for (const model::Unit& unit : cluster.units()) {
    if (unit.fabric != model::FabricKind::frontend || unit.leaves != 2) continue;
    for (std::uint32_t side = 0; side < 2; ++side) {
      const std::uint32_t leaf = model::index_of(unit.first_leaf) + side;
      Pair pair{model::kNone<model::DeviceId>, unit.index, side};
      for (const model::PortId id : cluster.ports_of(static_cast<model::DeviceId>(leaf))) {
        if (cluster.cable(cluster.cable_of(id)).role != model::CableRole::peer) continue;
        pair.mate = cluster.port(cluster.peer_of(id)).device;
        break;
      }
      pairs_.emplace(leaf, pair);
    }
  }
}

// A pair with links between its leaves is one place.
std::uint32_t SwitchSurvey::home_of(model::DeviceId leaf) const {
  const auto pair = pairs_.find(model::index_of(leaf));
  if (pair == pairs_.end() || pair->second.mate == model::kNone<model::DeviceId>) return model::index_of(leaf);
  return std::min(model::index_of(leaf), model::index_of(pair->second.mate));
}

bool SwitchSurvey::is_stretched(model::FabricKind fabric) const {
  const auto subnets = input_.cluster.subnets();
  for (std::size_t i = 0; i < subnets.size(); ++i) {
    if (subnets[i].fabric == fabric && homes_[i] == kEverywhere) return true;
  }
  return false;
}

void SwitchSurvey::find_homes() {
  const model::Cluster& cluster = input_.cluster;
  homes_.assign(cluster.subnets().size(), kNowhere);
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.role != model::CableRole::host_leaf || cable.fabric == model::FabricKind::oob) continue;
    const model::SubnetId subnet = cluster.port(cable.a).subnet;
    if (subnet == model::kNone<model::SubnetId>) continue;
    std::uint32_t& home = homes_[model::index_of(subnet)];
    const std::uint32_t here = home_of(cluster.port(cable.b).device);
    if (home == kNowhere) home = here;
    if (home != here) home = kEverywhere;
  }
}

// Rules OB and IS of `weft check`: what is managed talks to jump hosts alone, and asks the services of its own network.
void SwitchSurvey::make_guard() {
  if (!oob().jump_only.value) return;
  const model::Cluster& cluster = input_.cluster;
  const Ipv4Prefix all = oob().subnet.value;
  for (const model::DeviceId jump : input_.plan.jump_hosts()) {
    for (const model::PortId id : cluster.ports_of(jump)) {
      const model::Port& port = cluster.port(id);
      // Not its own BMC (rail 0): that is one of those who are managed.
      if (port.fabric != model::FabricKind::oob || port.rail == 0 || port.address.bits == 0) continue;
      guard_.push_back({false, host_prefix(port.address), 0, all, 0});
      guard_.push_back({false, all, 0, host_prefix(port.address), 0});
    }
  }
  const auto service = [&](Ipv4 server, int port) {
    if (server.bits == 0 || !all.contains(server)) return;
    guard_.push_back({true, all, 0, host_prefix(server), port});
    guard_.push_back({true, host_prefix(server), port, all, 0});
  };
  const auto logs = parse_ipv4(syslog());
  if (logs.ok()) service(logs.value(), 514);
  service(time_server(), 123);
  service(name_server(), 53);
  if (oob().services->dhcp.value != model::Whereabouts::oob) return;
  const Ipv4Prefix everyone{Ipv4{0xFFFFFFFFU}, 32};
  guard_.push_back({true, host_prefix(Ipv4{}), 68, everyone, 67});  // RFC 2131: before it has an address
  guard_.push_back({true, all, 68, all, 67});
  guard_.push_back({true, all, 67, all, 68});
}

std::vector<GuardRule> SwitchSurvey::guard_of(const SwitchView& view) const {
  std::vector<GuardRule> rules = guard_;
  if (rules.empty()) return rules;
  for (const SwitchLink& link : view.links) {
    const auto pair = pairs_.find(model::index_of(link.far_device));
    if (link.use != LinkUse::host || pair == pairs_.end() || pair->second.mate == model::kNone<model::DeviceId>)
      continue;
    const Ipv4 here = input_.cluster.oob_address(link.far_device);
    const Ipv4 there = input_.cluster.oob_address(pair->second.mate);
    if (here.bits != 0 && there.bits != 0) rules.push_back({false, host_prefix(here), 0, host_prefix(there), 0});
  }
  return rules;
}

std::string SwitchSurvey::syslog() const { return oob().syslog.has_value() ? oob().syslog.value : std::string(); }

Ipv4 SwitchSurvey::time_server() const {
  return oob().services->time.value == model::Whereabouts::oob ? oob().subnet->at(kOobTimeNumber) : Ipv4{};
}

Ipv4 SwitchSurvey::name_server() const {
  return oob().services->dns.value == model::Whereabouts::oob ? oob().subnet->at(kOobNameNumber) : Ipv4{};
}

SwitchLink SwitchSurvey::link_of(model::PortId id) const {
  const model::Cluster& cluster = input_.cluster;
  const model::Port& port = cluster.port(id);
  const model::PortId far = cluster.peer_of(id);
  const model::Port& far_port = cluster.port(far);
  SwitchLink link;
  link.port = id;
  link.use = use_of(cluster.cable(port.cable).role);
  link.cage = port.cage + 1U;
  link.lane = port.lane;
  link.lanes = port.lanes;
  std::uint32_t first = 0;
  for (const model::CageGroup& row : cluster.group_of(port.device).network_switch->cages.value) {
    const auto count = static_cast<std::uint32_t>(row.count.value);
    if (port.cage < first + count) {
      link.cage_lanes = static_cast<std::uint32_t>(row.lanes.value);
      link.form = row.form.value;
      break;
    }
    first += count;
  }
  link.speed = port.speed();
  link.far_device = far_port.device;
  link.far = fmt::format("{} {}", cluster.name_of(far_port.device), cluster.port_name(far));
  if (link.use == LinkUse::fabric) {
    link.far_asn = cluster.device(far_port.device).asn;
    link.own = port.address;
    link.far_address = far_port.address;
  }
  return link;
}

SwitchView SwitchSurvey::view(model::DeviceId id) const {
  const model::Cluster& cluster = input_.cluster;
  SwitchView view;
  view.id = id;
  view.name = cluster.name_of(id);
  view.device = &cluster.device(id);
  view.group = &cluster.group_of(id);
  view.fabric = switch_fabric(cluster, view.group->fabric);
  view.management = cluster.oob_address(id);
  const auto pair = pairs_.find(model::index_of(id));
  if (pair != pairs_.end()) {
    view.mate = pair->second.mate;
    view.pair = pair->second.number;
    view.side = pair->second.side;
    if (view.mate != model::kNone<model::DeviceId>) view.mate_management = cluster.oob_address(view.mate);
  }
  for (const model::PortId port_id : cluster.ports_of(id)) {
    const bool management = cluster.port(port_id).fabric == model::FabricKind::oob && !view.is_oob() &&
                            cluster.cable(cluster.cable_of(port_id)).role == model::CableRole::host_leaf;
    if (management) continue;
    view.links.push_back(link_of(port_id));
    if (view.links.back().use == LinkUse::fabric) ++view.fabric_links;
  }
  add_segments(view);
  bundle_hosts(view);
  for (const RenderPlan::Peer& peer : input_.plan.frontend_peers()) {
    const bool kubernetes = input_.plan.has_kubernetes() && peer.leaf == id;
    if (kubernetes) view.node_asn = static_cast<std::uint32_t>(cluster.spec().control_plane->asn.value);
  }
  return view;
}

void SwitchSurvey::add_segments(SwitchView& view) const {
  const model::Cluster& cluster = input_.cluster;
  const auto oob_vlan = static_cast<std::uint16_t>(oob().vlan.value);
  if (view.is_oob()) {
    SwitchGateway own{oob().subnet.value, view.device->loopback, {}, {}, false, {}};
    view.segments.push_back({oob_vlan, "oob", {own}});
    for (SwitchLink& link : view.links) link.vlan = oob_vlan;
    return;
  }
  for (SwitchLink& link : view.links) {
    if (link.use == LinkUse::trunk) link.vlan = oob_vlan;  // carries out-of-band where the file asks for it
    if (link.use != LinkUse::host) continue;
    const model::SubnetId id = cluster.port(cluster.peer_of(link.port)).subnet;
    link.vlan = static_cast<std::uint16_t>(view.fabric->vlan.value);
    if (id == model::kNone<model::SubnetId>) continue;
    link.vlan = cluster.subnet(id).vlan;
    add_gateway(view, cluster.subnet(id), id);
  }
  if (std::any_of(view.links.begin(), view.links.end(), [](const auto& link) { return link.use == LinkUse::trunk; }))
    view.segments.push_back({oob_vlan, "oob", {}});
  std::sort(view.segments.begin(), view.segments.end(), [](const auto& a, const auto& b) { return a.vlan < b.vlan; });
}

void SwitchSurvey::add_gateway(SwitchView& view, const model::Subnet& subnet, model::SubnetId id) const {
  const model::Cluster& cluster = input_.cluster;
  const auto same = [&](const SwitchSegment& segment) { return segment.vlan == subnet.vlan; };
  auto segment = std::find_if(view.segments.begin(), view.segments.end(), same);
  if (segment == view.segments.end()) {
    const bool frontend = subnet.fabric == model::FabricKind::frontend;
    std::string name =
        frontend ? std::string("frontend") : fmt::format("{}-rail{}", model::to_text(subnet.fabric), subnet.rail + 1);
    view.segments.push_back({subnet.vlan, std::move(name), {}});
    segment = view.segments.end() - 1;
  }
  for (const SwitchGateway& known : segment->gateways) {
    if (known.prefix == subnet.prefix) return;
  }
  SwitchGateway gateway{subnet.prefix, subnet.gateway, {}, subnet.ipv6, false, {}};
  if (view.mate != model::kNone<model::DeviceId>) {
    gateway.shared = subnet.gateway;
    gateway.own = subnet.prefix.at(2 + 2 * std::min(view.pair, kNumberedPairs - 1) + view.side);
  }
  gateway.stretched = homes_[model::index_of(id)] == kEverywhere;
  for (const model::DeviceId leaf : {view.id, view.mate}) {
    if (leaf == model::kNone<model::DeviceId> || !gateway.stretched) continue;
    for (const model::PortId port_id : cluster.ports_of(leaf)) {
      const model::Port& far = cluster.port(cluster.peer_of(port_id));
      if (far.subnet != id) continue;
      const bool frontend = far.fabric == model::FabricKind::frontend;
      const Ipv4 address = frontend ? input_.plan.frontend_address(far.device) : far.address;
      if (address.bits != 0) gateway.hosts.push_back(address);
    }
  }
  std::sort(gateway.hosts.begin(), gateway.hosts.end());
  gateway.hosts.erase(std::unique(gateway.hosts.begin(), gateway.hosts.end()), gateway.hosts.end());
  segment->gateways.push_back(std::move(gateway));
}

// Both leaves of a pair must number a server's bundle alike: by its place among the servers of the pair.
void SwitchSurvey::bundle_hosts(SwitchView& view) const {
  const model::Cluster& cluster = input_.cluster;
  for (SwitchLink& link : view.links) {
    if (link.use == LinkUse::pair) link.channel = kPairChannel;
  }
  if (view.is_oob() || !view.fabric->bond.value || view.mate == model::kNone<model::DeviceId>) return;
  std::vector<model::DeviceId> servers;
  for (const model::DeviceId leaf : {view.id, view.mate}) {
    for (const model::PortId id : cluster.ports_of(leaf)) {
      const model::PortId far = cluster.peer_of(id);
      if (cluster.cable(cluster.cable_of(id)).role == model::CableRole::host_leaf &&
          cluster.port(far).fabric == view.group->fabric)
        servers.push_back(cluster.port(far).device);
    }
  }
  std::sort(servers.begin(), servers.end());
  std::vector<model::DeviceId> bonded;  // those with at least two links here
  for (std::size_t i = 0; i + 1 < servers.size(); ++i) {
    if (servers[i] == servers[i + 1] && (bonded.empty() || bonded.back() != servers[i])) bonded.push_back(servers[i]);
  }
  for (SwitchLink& link : view.links) {
    if (link.use != LinkUse::host) continue;
    const auto at = std::lower_bound(bonded.begin(), bonded.end(), link.far_device);
    if (at != bonded.end() && *at == link.far_device)
      link.channel = static_cast<std::uint32_t>(at - bonded.begin()) + 1;
  }
}

Ipv6 embed_address(const Ipv6Prefix& prefix, Ipv4 address) {
  Ipv6 out = prefix.base;
  out.groups[6] = static_cast<std::uint16_t>(address.bits >> 16U);
  out.groups[7] = static_cast<std::uint16_t>(address.bits & 0xFFFFU);
  return out;
}

void note_group(const SwitchSurvey& survey, const model::DeviceGroup& group, FileSink& sink) {
  const model::Cluster& cluster = survey.input().cluster;
  const model::FabricSpec* fabric = switch_fabric(cluster, group.fabric);
  const auto ports = cluster.ports_of(group.first);
  const bool external = std::any_of(ports.begin(), ports.end(), [&](model::PortId id) {
    return cluster.cable(cluster.cable_of(id)).role == model::CableRole::external;
  });
  if (external) {
    sink.note(fmt::format("{}: links to the site carry no address and no BGP session yet: the site's side decides",
                          group.name));
  }
  if (group.fabric == model::FabricKind::frontend && fabric->ipv6.has_value() && survey.is_stretched(group.fabric)) {
    sink.note(
        fmt::format("{}: IPv6 of the one subnet that spans several pairs of leaves stays within a pair: hosts are "
                    "announced one by one in IPv4 alone",
                    group.name));
  }
  if (fabric == nullptr && survey.guarded() && survey.input().plan.jump_hosts().empty()) {
    sink.note(fmt::format("{}: `jump_only` without a jump host: nobody passes the access list", group.name));
  }
  if (fabric == nullptr && survey.oob().gateway.value != model::Whereabouts::none) {
    sink.note(
        fmt::format("{}: the way out of the out-of-band network ({}) is not configured: its next hop is the "
                    "site's",
                    group.name, to_text(survey.oob().subnet.value)));
  }
  if (fabric != nullptr && fabric->load_balancing.value != model::LoadBalancing::ecmp) {
    sink.left_out(
        fmt::format("{}: adaptive routing or spraying is not configured: it depends on the release", group.name));
  }
}

std::vector<std::string> switch_sources(const SwitchView& view) {
  std::vector<std::string> sources{fmt::format("fabrics.{}", model::to_text(view.group->fabric))};
  if (!view.is_oob()) sources.emplace_back("fabrics.oob");
  return sources;
}

void render_switches(const RenderInput& input, FileSink& sink, const SwitchDialect& dialect) {
  const SwitchSurvey survey(input);
  for (const model::DeviceGroup& group : input.cluster.groups()) {
    if (!is_ethernet_switch_of(input.cluster, group, dialect.system)) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const SwitchView view = survey.view(static_cast<model::DeviceId>(model::index_of(group.first) + i));
      CliWriter out(dialect.style);
      out.comment(heading(input.cluster, fmt::format("{} configuration of {}", dialect.title, view.name)));
      dialect.write(out, view, survey);
      RenderedFile file;
      file.path = fmt::format("{}/{}.cfg", dialect.system, view.name);
      for (const std::string& line : out.refused()) {
        sink.left_out(fmt::format("{}: a line was left out, it would not stay one line: {}", file.path, line));
      }
      file.content = out.take();
      file.device = view.name;
      file.consumer = dialect.title;
      file.install = fmt::format("{}:{}.cfg", dialect.storage, view.name);
      file.apply = fmt::format("copy {} running-config", file.install);
      file.risk = Risk::traffic;
      file.stage = stage_of(view.group->fabric);
      file.sources = switch_sources(view);
      sink.add(std::move(file));
    }
    note_group(survey, group, sink);
  }
}

}  // namespace weft::render
