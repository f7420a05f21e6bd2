#include "render/switches/frr_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "render/switches/system.h"

namespace weft::render::frr {
namespace {

// "10.60.0.0/16 ge 26 le 28": prefixes of these lengths within another.
std::string within(const std::string& prefix, int length, int shortest, int longest) {
  if (shortest == length && longest == length) return prefix;
  if (shortest <= length) return fmt::format("{} le {}", prefix, longest);
  return fmt::format("{} ge {} le {}", prefix, shortest, longest);
}

}  // namespace

Underlay::Underlay(const model::Cluster& cluster) : cluster_(cluster) {
  for (const model::FabricKind kind :
       {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend}) {
    const model::FabricPlan& plan = cluster.fabric(kind);
    const bool flat = kind == model::FabricKind::frontend;
    // A single pair of frontend leaves bridges: nothing to route.
    if (!plan.present || plan.network != model::NetworkKind::ethernet || (flat && plan.tiers < 2)) continue;
    fabrics_.push_back({kind, &cluster.data_fabric_spec(kind), &plan, flat});
  }
  leaf_of_subnet_.assign(cluster.subnets().size(), model::kNone<model::DeviceId>);
  shared_.assign(cluster.subnets().size(), false);
  for (const model::Cable& cable : cluster.cables()) {
    const model::SubnetId subnet = cluster.port(cable.a).subnet;
    if (cable.role != model::CableRole::host_leaf || subnet == model::kNone<model::SubnetId>) continue;
    const model::DeviceId leaf = cluster.port(cable.b).device;
    model::DeviceId& first = leaf_of_subnet_[model::index_of(subnet)];
    if (first == model::kNone<model::DeviceId>) first = leaf;
    if (first != leaf) shared_[model::index_of(subnet)] = true;
  }
  for (const FabricPart& fabric : fabrics_) measure(fabric);
}

// The part of the address plan that a fabric uses (plans have headroom for more rails) and its prefix lengths.
void Underlay::measure(const FabricPart& fabric) {
  auto& [shortest, longest] = lengths_[static_cast<std::size_t>(fabric.kind)];
  std::vector<Ipv4Prefix>& reach = reach_[static_cast<std::size_t>(fabric.kind)];
  for (std::size_t i = 0; i < cluster_.subnets().size(); ++i) {
    const model::Subnet& subnet = cluster_.subnets()[i];
    if (subnet.fabric != fabric.kind) continue;
    shortest = std::min<int>(shortest, subnet.prefix.length);
    longest = std::max<int>(longest, shared_[i] ? 32 : subnet.prefix.length);
    if (!reach.empty() && reach.back().contains(subnet.prefix)) continue;
    for (const Ipv4Prefix& whole : fabric.spec->subnets.value) {
      const bool known = std::find(reach.begin(), reach.end(), whole) != reach.end();
      if (whole.contains(subnet.prefix) && !known) reach.push_back(whole);
    }
  }
}

const FabricPart* Underlay::fabric(model::FabricKind kind) const {
  for (const FabricPart& part : fabrics_) {
    if (part.kind == kind) return &part;
  }
  return nullptr;
}

SwitchPart Underlay::switch_part(model::DeviceId id) const {
  SwitchPart part;
  part.id = id;
  for (const model::PortId port : cluster_.ports_of(id)) {
    const model::Cable& cable = cluster_.cable(cluster_.cable_of(port));
    const model::PortId peer = cluster_.peer_of(port);
    if (cable.role == model::CableRole::leaf_spine || cable.role == model::CableRole::spine_core) {
      part.sessions.push_back({port, peer, cable.a == port});
    } else if (cable.role == model::CableRole::host_leaf) {
      const model::SubnetId subnet = cluster_.port(peer).subnet;
      part.host_ports.push_back(peer);
      if (subnet == model::kNone<model::SubnetId>) continue;
      const auto known = std::find_if(part.gateways.begin(), part.gateways.end(),
                                      [&](const Gateway& gateway) { return gateway.subnet == subnet; });
      if (known == part.gateways.end()) part.gateways.push_back({subnet, shared_[model::index_of(subnet)]});
    }
  }
  std::sort(part.gateways.begin(), part.gateways.end(),
            [](const Gateway& a, const Gateway& b) { return model::index_of(a.subnet) < model::index_of(b.subnet); });
  part.most_paths = most_paths(part);
  return part;
}

// Every uplink reaches everything. Downward, a spine reaches a leaf over the links between the two, and a core reaches
// a pod over its links to all spines of that pod.
std::uint32_t Underlay::most_paths(const SwitchPart& part) const {
  std::uint32_t up = 0;
  std::map<std::uint32_t, std::uint32_t> down;
  const bool core = cluster_.group_of(part.id).tier == model::Tier::core;
  for (const Session& session : part.sessions) {
    const model::DeviceId peer = cluster_.port(session.peer).device;
    if (session.up) {
      ++up;
    } else {
      ++down[core ? cluster_.device(peer).pod : model::index_of(peer)];
    }
  }
  std::uint32_t most = std::max<std::uint32_t>(up, 1);
  for (const auto& [peer, links] : down) most = std::max(most, links);
  return most;
}

std::vector<std::string> Underlay::allowed(const FabricPart& fabric) const {
  std::vector<std::string> lines;
  if (!fabric.evpn) {
    for (const Ipv4Prefix& prefix : reach_[static_cast<std::size_t>(fabric.kind)]) {
      const auto [shortest, longest] = lengths_[static_cast<std::size_t>(fabric.kind)];
      lines.push_back(within(to_text(prefix), prefix.length, shortest, longest));
    }
  }
  const Ipv4Prefix loopbacks = fabric.spec->loopbacks.value;
  lines.push_back(within(to_text(loopbacks), loopbacks.length, 32, 32));
  return lines;
}

std::vector<std::string> Underlay::allowed_ipv6(const FabricPart& fabric) const {
  if (fabric.evpn || !fabric.spec->ipv6.has_value()) return {};
  const Ipv6Prefix whole = fabric.spec->ipv6.value;
  return {within(to_text(whole), whole.length, 64, 64)};
}

std::string interface_name(const model::Cluster& cluster, model::PortId port) {
  std::string name = cluster.port_name(port);
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

std::string vlan_name(const model::Cluster& cluster, model::SubnetId subnet) {
  return fmt::format("vlan{}", cluster.subnet(subnet).vlan);
}

std::string unit_name(const model::Cluster& cluster, model::UnitId unit) {
  if (unit == model::kNone<model::UnitId>) return "-";
  const model::Unit& which = cluster.units()[model::index_of(unit)];
  const std::string pool =
      which.pool < 0 ? "shared" : cluster.spec().pools.value[static_cast<std::size_t>(which.pool)].name->text;
  return fmt::format("{}-u{:03}", pool, which.index + 1);
}

std::string comment_heading(const model::Cluster& cluster, std::string_view what, std::string_view sign) {
  std::string out = fmt::format("{} ", sign);
  for (const char c : heading(cluster, what)) {
    out += c;
    if (c == '\n') out += fmt::format("{} ", sign);
  }
  return out + "\n";
}

}  // namespace weft::render::frr
