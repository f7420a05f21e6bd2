#include "render/switches/switch_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::render {
namespace {

constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;
constexpr std::uint32_t kEverywhere = 0xFFFFFFFEU;
// The frontend's first ten numbers (build_addresses.cc) hold the gateway and two addresses for each of four pairs.
// Later pairs reuse the fourth's: they share no VLAN with it, and the addresses are not announced.
constexpr std::uint32_t kNumberedPairs = 4;
constexpr std::size_t kLongestInterface = 15;  // IFNAMSIZ without the terminating zero: a VRF is an interface in Linux

// The VRF name in the file, unless the switch reserves it.
std::string free_vrf(const std::string& name, model::FabricKind fabric) {
  const bool taken = name == "default" || name == "mgmt" || name == "MGMT" || name == "management";
  return taken ? std::string(model::to_text(fabric)) : name;
}

struct CagePlace {
  std::uint32_t lanes = 0;  // 0: no cage, the management port
  std::uint32_t first_lane = 0;
  model::FormFactor form = model::FormFactor::osfp;
};

CagePlace cage_place(const model::SwitchModel& model, std::uint32_t cage) {
  std::uint32_t first = 0;
  std::uint32_t lane = 0;
  for (const model::CageGroup& row : model.cages.value) {
    const auto count = static_cast<std::uint32_t>(row.count.value);
    const auto lanes = static_cast<std::uint32_t>(row.lanes.value);
    if (cage < first + count) return {lanes, lane + (cage - first) * lanes, row.form.value};
    first += count;
    lane += count * lanes;
  }
  return {};
}

SwitchPort::Use use_of(model::CableRole role) {
  switch (role) {
    case model::CableRole::leaf_spine:
    case model::CableRole::spine_core:
      return SwitchPort::Use::fabric;
    case model::CableRole::external:
      return SwitchPort::Use::external;
    case model::CableRole::oob_uplink:
    case model::CableRole::oob_frontend:
      return SwitchPort::Use::trunk;
    case model::CableRole::peer:
      return SwitchPort::Use::pair_link;
    case model::CableRole::host_leaf:
    case model::CableRole::manager_leaf:
    case model::CableRole::back_to_back:
      break;
  }
  return SwitchPort::Use::host;
}

// A fabric manager has no address in the plan: it is in the VLAN of the leaf's rail.
std::uint16_t host_vlan(const model::Cluster& cluster, const SwitchPlan& plan, const model::Port& far) {
  if (far.subnet != model::kNone<model::SubnetId>) return cluster.subnet(far.subnet).vlan;
  if (plan.oob()) return static_cast<std::uint16_t>(cluster.spec().fabrics->oob->vlan.value);
  const bool rails = plan.group->fabric != model::FabricKind::frontend;
  return static_cast<std::uint16_t>(plan.fabric->vlan.value + (rails ? plan.device->rail : 0));
}

SwitchPort plan_port(const model::Cluster& cluster, const SwitchPlan& plan, model::PortId id, const CagePlace& place) {
  const model::Port& port = cluster.port(id);
  const model::Cable& cable = cluster.cable(port.cable);
  const model::PortId far_id = cluster.peer_of(id);
  const model::Port& far = cluster.port(far_id);
  SwitchPort out;
  out.id = id;
  out.peer = far.device;
  out.peer_name = cluster.name_of(far.device);
  out.peer_port = cluster.port_name(far_id);
  out.use = use_of(cable.role);
  out.cage = port.cage;
  out.cage_lanes = place.lanes;
  out.first_lane = place.first_lane;
  out.lane = port.lane;
  out.lanes = port.lanes;
  out.form = place.form;
  out.speed = port.speed();
  out.cable = Length(cable.length_mm);
  if (out.use == SwitchPort::Use::fabric) {
    out.address = port.address;
    out.peer_address = far.address;
    out.peer_asn = cluster.device(far.device).asn;
  }
  if (out.use == SwitchPort::Use::host) out.vlan = host_vlan(cluster, plan, far);
  if (out.use == SwitchPort::Use::trunk) {
    out.vlan = static_cast<std::uint16_t>(cluster.spec().fabrics->oob->vlan.value);
  }
  return out;
}

// Index of a frontend leaf among all of them: groups of leaves are consecutive in order of creation.
std::uint32_t leaf_number(const model::Cluster& cluster, const SwitchPlan& plan) {
  std::uint32_t before = 0;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (&group == plan.group) break;
    if (group.kind == model::DeviceKind::network_switch && group.fabric == model::FabricKind::frontend &&
        group.tier == model::Tier::leaf) {
      before += group.count;
    }
  }
  return before + plan.device->index;
}

bool is_frontend_leaf(const SwitchPlan& plan) {
  return plan.group->fabric == model::FabricKind::frontend && plan.group->tier == model::Tier::leaf;
}

// Servers with at least two links to a pair, in the order of their ids: both switches number their bonds the same way.
std::vector<model::DeviceId> bonded_servers(const model::Cluster& cluster, const SwitchPlan& plan) {
  std::vector<model::DeviceId> servers;
  for (const model::DeviceId leaf : {plan.id, plan.pair}) {
    for (const model::PortId id : cluster.ports_of(leaf)) {
      const model::Port& far = cluster.port(cluster.peer_of(id));
      const bool host = cluster.cable(cluster.cable_of(id)).role == model::CableRole::host_leaf;
      if (host && far.fabric == plan.group->fabric) servers.push_back(far.device);
    }
  }
  std::sort(servers.begin(), servers.end());
  std::vector<model::DeviceId> bonded;
  for (std::size_t i = 0; i + 1 < servers.size(); ++i) {
    if (servers[i] == servers[i + 1] && (bonded.empty() || bonded.back() != servers[i])) bonded.push_back(servers[i]);
  }
  return bonded;
}

SwitchVlan& vlan_of(SwitchPlan& plan, std::uint16_t id) {
  const auto at = std::lower_bound(plan.vlans.begin(), plan.vlans.end(), id,
                                   [](const SwitchVlan& vlan, std::uint16_t number) { return vlan.id < number; });
  if (at != plan.vlans.end() && at->id == id) return *at;
  SwitchVlan made;
  made.id = id;
  return *plan.vlans.insert(at, std::move(made));
}

void name_vlan(const SwitchPlan& plan, const SwitchPort& port, SwitchVlan& vlan) {
  if (!vlan.name.empty()) return;
  if (plan.oob() || port.use == SwitchPort::Use::trunk) {
    vlan.name = "oob";
    vlan.description = "out-of-band network";
    return;
  }
  const std::string_view fabric = model::to_text(plan.group->fabric);
  const auto rail = vlan.id - plan.fabric->vlan.value + 1;
  const bool rails = plan.group->fabric != model::FabricKind::frontend;
  vlan.name = rails ? fmt::format("{}-rail{}", fabric, rail) : std::string(fabric);
  vlan.description = rails ? fmt::format("{} rail {}", fabric, rail) : std::string(fabric);
}

// The lowest class that is neither the data's nor the notifications' nor paused; a paused one if there is no other.
int best_effort_class(const ClassPlan& classes) {
  constexpr int kClasses = 8;
  for (const bool pausable : {false, true}) {
    for (int number = 0; number < kClasses; ++number) {
      const bool taken = number == classes.priority || number == classes.cnp_priority;
      if (!taken && (pausable || !classes.is_paused(number))) return number;
    }
  }
  return 0;
}

Ipv4 own_address(const Ipv4Prefix& prefix, std::uint32_t pair_number, std::uint32_t side) {
  return prefix.at(std::uint64_t{2} + 2 * std::min(pair_number - 1, kNumberedPairs - 1) + side);
}

}  // namespace

std::vector<Ipv4> SwitchGateway::addresses() const {
  std::vector<Ipv4> out;
  if (!shared && address != Ipv4{}) out.push_back(address);
  if (own != Ipv4{}) out.push_back(own);
  return out;
}

bool SwitchVlan::is_stretched() const {
  return std::any_of(gateways.begin(), gateways.end(), [](const SwitchGateway& one) { return one.stretched; });
}

bool SwitchPlan::lossless() const { return fabric != nullptr && fabric->qos->lossless.value && model->lossless.value; }

bool SwitchPlan::is_stretched() const {
  return std::any_of(vlans.begin(), vlans.end(), [](const SwitchVlan& vlan) { return vlan.is_stretched(); });
}

std::uint32_t SwitchPlan::fabric_links() const {
  return static_cast<std::uint32_t>(std::count_if(
      ports.begin(), ports.end(), [](const SwitchPort& port) { return port.use == SwitchPort::Use::fabric; }));
}

int SwitchPlan::spanning_tree_priority() const {
  constexpr int kCore = 4096;  // multiples of 4096 (IEEE 802.1D, 9.2.5)
  constexpr int kSpine = 12288;
  if (!oob()) {
    const bool carries = std::any_of(ports.begin(), ports.end(),
                                     [](const SwitchPort& port) { return port.use == SwitchPort::Use::trunk; });
    return carries ? kSpine : 0;
  }
  if (group->tier == model::Tier::leaf) return 0;
  return (group->tier == model::Tier::core ? kCore : kSpine) + (device->index == 0 ? 0 : 4096);
}

std::string SwitchPlan::kernel_vrf() const {
  return vrf.size() > kLongestInterface ? std::string(model::to_text(group->fabric)) : vrf;
}

SwitchPlanner::SwitchPlanner(const RenderPlan& plan) : plan_(plan) { find_homes(); }

// A pair with links between its leaves counts as one.
void SwitchPlanner::find_homes() {
  homes_.assign(cluster().subnets().size(), kNowhere);
  for (const model::Cable& cable : cluster().cables()) {
    if (cable.role != model::CableRole::host_leaf || cable.fabric == model::FabricKind::oob) continue;
    const model::SubnetId subnet = cluster().port(cable.a).subnet;
    if (subnet == model::kNone<model::SubnetId>) continue;
    const model::DeviceId leaf = cluster().port(cable.b).device;
    std::uint32_t& home = homes_[model::index_of(subnet)];
    if (home == model::index_of(leaf) || home == kEverywhere) continue;
    const model::DeviceId pair = pair_of(cluster(), leaf);
    const std::uint32_t here = pair == model::kNone<model::DeviceId>
                                   ? model::index_of(leaf)
                                   : std::min(model::index_of(leaf), model::index_of(pair));
    if (home == kNowhere) home = here;
    if (home != here) home = kEverywhere;
  }
}

bool SwitchPlanner::is_stretched(model::FabricKind fabric) const {
  const auto subnets = cluster().subnets();
  for (std::size_t i = 0; i < subnets.size(); ++i) {
    if (subnets[i].fabric == fabric && homes_[i] == kEverywhere) return true;
  }
  return false;
}

SwitchPlan SwitchPlanner::plan(model::DeviceId id) const {
  SwitchPlan out;
  out.id = id;
  out.device = &cluster().device(id);
  out.group = &cluster().group_of(id);
  out.model = out.group->network_switch;
  out.fabric = switch_fabric(cluster(), out.group->fabric);
  out.name = cluster().name_of(id);
  out.vrf = free_vrf(out.oob() ? oob().vrf->text : out.fabric->vrf->text, out.group->fabric);
  out.mtu = out.oob() ? oob().mtu.value : out.fabric->switch_mtu.value;
  out.management = cluster().oob_address(id);
  out.management_subnet = oob().subnet.value;
  out.management_gateway = oob().subnet->at(1);
  plan_ports(out);
  plan_pair(out);
  plan_vlans(out);
  plan_nodes(out);
  return out;
}

void SwitchPlanner::plan_ports(SwitchPlan& plan) const {
  for (const model::PortId port : cluster().ports_of(plan.id)) {
    const CagePlace place = cage_place(*plan.model, cluster().port(port).cage);
    if (place.lanes > 0) plan.ports.push_back(plan_port(cluster(), plan, port, place));
  }
}

void SwitchPlanner::plan_pair(SwitchPlan& plan) const {
  if (!is_frontend_leaf(plan)) return;
  const std::uint32_t number = leaf_number(cluster(), plan);
  plan.pair_number = number / 2 + 1;
  plan.side = number % 2;
  plan.pair = pair_of(cluster(), plan.id);
  if (!plan.has_pair()) return;
  plan.pair_management = cluster().oob_address(plan.pair);
  if (!plan.fabric->bond.value) return;
  const std::vector<model::DeviceId> servers = bonded_servers(cluster(), plan);
  for (SwitchPort& port : plan.ports) {
    if (port.use != SwitchPort::Use::host) continue;
    const auto found = std::lower_bound(servers.begin(), servers.end(), port.peer);
    if (found == servers.end() || *found != port.peer) continue;
    port.bond = static_cast<std::uint32_t>(found - servers.begin()) + 1;
  }
}

void SwitchPlanner::plan_vlans(SwitchPlan& plan) const {
  for (const SwitchPort& port : plan.ports) {
    if (port.vlan == 0) continue;
    SwitchVlan& vlan = vlan_of(plan, port.vlan);
    name_vlan(plan, port, vlan);
    const model::SubnetId subnet = cluster().port(cluster().peer_of(port.id)).subnet;
    if (plan.oob() || port.use != SwitchPort::Use::host || subnet == model::kNone<model::SubnetId>) continue;
    const bool known = std::any_of(vlan.gateways.begin(), vlan.gateways.end(),
                                   [&](const SwitchGateway& one) { return one.subnet == subnet; });
    if (!known && cluster().subnet(subnet).gateway != Ipv4{}) vlan.gateways.push_back(gateway_of(plan, subnet));
  }
  for (SwitchVlan& vlan : plan.vlans) {
    std::sort(vlan.gateways.begin(), vlan.gateways.end(),
              [](const SwitchGateway& a, const SwitchGateway& b) { return a.subnet < b.subnet; });
    if (!plan.oob()) continue;
    SwitchGateway own;
    own.prefix = plan.management_subnet;
    own.own = plan.management;
    vlan.gateways.push_back(std::move(own));
  }
}

// Every frontend leaf has its own address: Kubernetes nodes peer with it (RenderPlan::frontend_peers).
SwitchGateway SwitchPlanner::gateway_of(const SwitchPlan& plan, model::SubnetId id) const {
  const model::Subnet& subnet = cluster().subnet(id);
  SwitchGateway out;
  out.subnet = id;
  out.prefix = subnet.prefix;
  out.address = subnet.gateway;
  out.ipv6 = subnet.ipv6;
  out.shared = plan.has_pair();
  out.stretched = homes_[model::index_of(id)] == kEverywhere;
  if (plan.pair_number != 0) out.own = own_address(subnet.prefix, plan.pair_number, plan.side);
  if (plan.has_pair()) out.pair_own = own_address(subnet.prefix, plan.pair_number, 1 - plan.side);
  if (out.stretched) out.hosts = hosts_of(plan, id);
  return out;
}

std::vector<Ipv4> SwitchPlanner::hosts_of(const SwitchPlan& plan, model::SubnetId id) const {
  std::vector<Ipv4> hosts;
  for (const model::DeviceId leaf : {plan.id, plan.pair}) {
    if (leaf == model::kNone<model::DeviceId>) continue;
    for (const model::PortId port : cluster().ports_of(leaf)) {
      const model::Port& far = cluster().port(cluster().peer_of(port));
      if (far.subnet != id) continue;
      const bool frontend = far.fabric == model::FabricKind::frontend;
      const Ipv4 address = frontend ? plan_.frontend_address(far.device) : far.address;
      if (address != Ipv4{}) hosts.push_back(address);
    }
  }
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

void SwitchPlanner::plan_nodes(SwitchPlan& plan) const {
  const auto& peers = plan_.frontend_peers();
  const bool peer = std::any_of(peers.begin(), peers.end(), [&](const auto& one) { return one.leaf == plan.id; });
  const model::ControlPlaneSpec& control = cluster().spec().control_plane.value;
  if (!peer || !plan_.has_kubernetes() || !control.asn.has_value()) return;
  plan.nodes.asn = static_cast<std::uint32_t>(control.asn.value);
  plan.nodes.hosts = plan.fabric->subnets->front();
  // The last eighth of the subnet: RenderPlan::service_addresses.
  plan.nodes.services = {plan_.service_addresses().first, static_cast<std::uint8_t>(plan.nodes.hosts.length + 3)};
}

model::DeviceId pair_of(const model::Cluster& cluster, model::DeviceId leaf) {
  for (const model::PortId id : cluster.ports_of(leaf)) {
    if (cluster.cable(cluster.cable_of(id)).role == model::CableRole::peer)
      return cluster.port(cluster.peer_of(id)).device;
  }
  return model::kNone<model::DeviceId>;
}

bool ClassPlan::is_paused(int number) const { return std::find(pfc.begin(), pfc.end(), number) != pfc.end(); }

ClassPlan plan_classes(const model::Cluster& cluster, const SwitchPlan& plan) {
  const model::QosSpec& qos = plan.fabric->qos.value;
  ClassPlan out;
  out.priority = static_cast<int>(qos.priority.value);
  out.dscp = static_cast<int>(qos.dscp.value);
  out.cnp_priority = static_cast<int>(qos.cnp_priority.value);
  out.cnp_dscp = static_cast<int>(qos.cnp_dscp.value);
  if (qos.pfc.value != model::PfcMode::off) {
    if (qos.pfc_priorities.has_value()) {
      for (const std::int64_t priority : qos.pfc_priorities.value) out.pfc.push_back(static_cast<int>(priority));
    } else {
      out.pfc.push_back(out.priority);
    }
    std::sort(out.pfc.begin(), out.pfc.end());
  }
  out.best_effort = best_effort_class(out);
  out.bandwidth_percent = static_cast<int>(std::clamp<std::int64_t>(qos.bandwidth_percent.value, 1, 99));
  out.watchdog = model::watchdog_times(qos, static_cast<std::int64_t>(cluster.ports_of(plan.id).size()));
  return out;
}

std::string fabric_source(model::FabricKind kind) { return fmt::format("fabrics.{}", model::to_text(kind)); }

Ipv6 embed_address(const Ipv6Prefix& prefix, Ipv4 address) {
  Ipv6 out = prefix.base;
  out.groups[6] = static_cast<std::uint16_t>(address.bits >> 16U);
  out.groups[7] = static_cast<std::uint16_t>(address.bits & 0xFFFFU);
  return out;
}

}  // namespace weft::render
