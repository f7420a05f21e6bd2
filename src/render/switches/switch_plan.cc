#include "render/switches/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "render/switches/system.h"

namespace weft::render {
namespace {

// Numbers of the frontend's subnet below this belong to gateways; cluster.h gives hosts those from ten on.
constexpr std::uint64_t kFirstHost = 10;

constexpr std::size_t kLongestInterface = 15;  // IFNAMSIZ less the closing zero: a VRF is an interface to Linux

// The file's name of a VRF, unless the switch could not have it or has it for something else.
std::string kernel_vrf(const std::string& name, model::FabricKind fabric) {
  const bool taken = name == "default" || name == "mgmt" || name == "management";
  return taken || name.size() > kLongestInterface ? std::string(model::to_text(fabric)) : name;
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
    case model::CableRole::external:
      return SwitchPort::Use::routed;
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

SwitchPort plan_port(const model::Cluster& cluster, const SwitchPlan& plan, model::PortId id, const CagePlace& place) {
  const model::Port& port = cluster.port(id);
  const model::Cable& cable = cluster.cable(port.cable);
  const model::PortId far_id = cluster.peer_of(id);
  const model::Port& far = cluster.port(far_id);
  SwitchPort out;
  out.id = id;
  out.peer = far.device;
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
  out.address = port.address;
  out.peer_address = out.use == SwitchPort::Use::routed ? far.address : Ipv4{};
  if (out.use == SwitchPort::Use::routed) out.peer_asn = cluster.device(far.device).asn;
  if (out.use == SwitchPort::Use::host) {
    const model::FabricSpec* fabric = plan.fabric;
    // A fabric manager has no address of the plan: it is in the VLAN of the leaf's rail.
    out.vlan = far.subnet != model::kNone<model::SubnetId> ? cluster.subnet(far.subnet).vlan
               : fabric != nullptr ? static_cast<std::uint16_t>(fabric->vlan.value + plan.device->rail)
                                   : static_cast<std::uint16_t>(cluster.spec().fabrics->oob->vlan.value);
  }
  if (out.use == SwitchPort::Use::trunk) {
    out.vlan = static_cast<std::uint16_t>(cluster.spec().fabrics->oob->vlan.value);
  }
  return out;
}

// Frontend servers with links to this switch, in the order of their ids.
void bonded_servers(const model::Cluster& cluster, model::DeviceId leaf, std::vector<model::DeviceId>& out) {
  for (const model::PortId id : cluster.ports_of(leaf)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric != model::FabricKind::frontend) continue;
    const model::DeviceId far = cluster.port(cluster.peer_of(id)).device;
    if (cluster.group_of(far).kind != model::DeviceKind::server) continue;
    std::size_t links = 0;
    for (const model::PortId other : cluster.ports_of(far)) {
      links += cluster.port(other).fabric == model::FabricKind::frontend ? 1U : 0U;
    }
    if (links > 1) out.push_back(far);
  }
}

void plan_pair(const model::Cluster& cluster, SwitchPlan& plan) {
  if (plan.group->fabric != model::FabricKind::frontend || plan.group->tier != model::Tier::leaf) return;
  for (const SwitchPort& port : plan.ports) {
    if (port.use == SwitchPort::Use::pair_link) plan.pair = port.peer;
  }
  plan.pair_first = plan.pair != model::kNone<model::DeviceId> && plan.id < plan.pair;
  if (plan.pair == model::kNone<model::DeviceId> || !plan.fabric->bond.value) return;
  std::vector<model::DeviceId> servers;
  bonded_servers(cluster, plan.id, servers);
  bonded_servers(cluster, plan.pair, servers);
  std::sort(servers.begin(), servers.end());
  servers.erase(std::unique(servers.begin(), servers.end()), servers.end());
  for (SwitchPort& port : plan.ports) {
    if (port.use != SwitchPort::Use::host) continue;
    const auto found = std::lower_bound(servers.begin(), servers.end(), port.peer);
    if (found == servers.end() || *found != port.peer) continue;
    port.bond = static_cast<std::uint32_t>(found - servers.begin()) + 1;
  }
}

// Number of a frontend leaf among all of them: groups of leaves follow each other in order of creation.
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

SwitchVlan& vlan_of(SwitchPlan& plan, std::uint16_t id) {
  const auto at = std::lower_bound(plan.vlans.begin(), plan.vlans.end(), id,
                                   [](const SwitchVlan& vlan, std::uint16_t number) { return vlan.id < number; });
  if (at != plan.vlans.end() && at->id == id) return *at;
  SwitchVlan made;
  made.id = id;
  return *plan.vlans.insert(at, std::move(made));
}

void plan_vlans(const model::Cluster& cluster, SwitchPlan& plan) {
  for (const SwitchPort& port : plan.ports) {
    if (port.vlan == 0) continue;
    SwitchVlan& vlan = vlan_of(plan, port.vlan);
    const model::Port& far = cluster.port(cluster.peer_of(port.id));
    if (vlan.name.empty()) {
      vlan.name =
          plan.oob() || port.use == SwitchPort::Use::trunk ? "out-of-band network"
          : plan.group->fabric == model::FabricKind::frontend
              ? "frontend"
              : fmt::format("{} rail {}", model::to_text(plan.group->fabric), port.vlan - plan.fabric->vlan.value + 1);
    }
    if (port.use != SwitchPort::Use::host || far.subnet == model::kNone<model::SubnetId>) continue;
    if (std::find(vlan.subnets.begin(), vlan.subnets.end(), far.subnet) == vlan.subnets.end()) {
      vlan.subnets.push_back(far.subnet);
    }
  }
  for (SwitchVlan& vlan : plan.vlans) {
    std::sort(vlan.subnets.begin(), vlan.subnets.end());
    if (plan.group->fabric != model::FabricKind::frontend || vlan.subnets.empty()) continue;
    const std::uint64_t number = 2 + std::uint64_t{leaf_number(cluster, plan)};
    if (number < kFirstHost) vlan.own = cluster.subnet(vlan.subnets.front()).prefix.at(number);
  }
}

}  // namespace

SwitchServices switch_services(const model::Cluster& cluster) {
  const model::OobSpec& oob = cluster.spec().fabrics->oob.value;
  SwitchServices out;
  out.syslog = oob.syslog.has_value() ? oob.syslog.value : to_text(oob.subnet->at(kOobSyslogNumber));
  if (oob.services->time.value == model::Whereabouts::oob) out.time = oob.subnet->at(kOobTimeNumber);
  if (oob.services->dns.value == model::Whereabouts::oob) out.dns = oob.subnet->at(kOobNameNumber);
  return out;
}

SwitchPlan plan_switch(const RenderPlan& plan, model::DeviceId id) {
  const model::Cluster& cluster = plan.cluster();
  SwitchPlan out;
  out.id = id;
  out.device = &cluster.device(id);
  out.group = &cluster.group_of(id);
  out.model = out.group->network_switch;
  out.fabric = switch_fabric(cluster, out.group->fabric);
  out.name = cluster.name_of(id);
  const model::OobSpec& oob = cluster.spec().fabrics->oob.value;
  out.vrf = kernel_vrf(out.oob() ? oob.vrf->text : out.fabric->vrf->text, out.group->fabric);
  out.mtu = out.oob() ? oob.mtu.value : out.fabric->switch_mtu.value;
  out.management = cluster.oob_address(id);
  out.management_subnet = oob.subnet.value;
  out.management_gateway = oob.subnet->at(1);
  for (const model::PortId port : cluster.ports_of(id)) {
    const CagePlace place = cage_place(*out.model, cluster.port(port).cage);
    if (place.lanes > 0) out.ports.push_back(plan_port(cluster, out, port, place));
  }
  if (out.group->fabric == model::FabricKind::frontend && out.group->tier == model::Tier::leaf) {
    out.stretched = cluster.fabric(model::FabricKind::frontend).leaves > 2;
    out.pair_number = leaf_number(cluster, out) / 2 + 1;
  }
  plan_pair(cluster, out);
  plan_vlans(cluster, out);
  return out;
}

ClassPlan plan_classes(const model::Cluster& cluster, const SwitchPlan& plan) {
  const model::QosSpec& qos = plan.fabric->qos.value;
  ClassPlan out;
  out.priority = static_cast<int>(qos.priority.value);
  out.dscp = static_cast<int>(qos.dscp.value);
  out.cnp_priority = static_cast<int>(qos.cnp_priority.value);
  out.cnp_dscp = static_cast<int>(qos.cnp_dscp.value);
  while (out.best_effort == out.priority || out.best_effort == out.cnp_priority) ++out.best_effort;
  if (qos.pfc.value != model::PfcMode::off) {
    if (qos.pfc_priorities.has_value()) {
      for (const std::int64_t priority : qos.pfc_priorities.value) out.pfc.push_back(static_cast<int>(priority));
    } else {
      out.pfc.push_back(out.priority);
    }
    std::sort(out.pfc.begin(), out.pfc.end());
  }
  out.bandwidth_percent = static_cast<int>(std::clamp<std::int64_t>(qos.bandwidth_percent.value, 1, 99));
  out.watchdog = model::watchdog_times(qos, static_cast<std::int64_t>(cluster.ports_of(plan.id).size()));
  return out;
}

std::vector<Ipv4> jump_addresses(const RenderPlan& plan) {
  const model::Cluster& cluster = plan.cluster();
  std::vector<Ipv4> out;
  for (const model::DeviceId host : plan.jump_hosts()) {
    const std::size_t before = out.size();
    Ipv4 bmc;
    for (const model::PortId id : cluster.ports_of(host)) {
      const model::Port& port = cluster.port(id);
      if (port.fabric != model::FabricKind::oob || port.address == Ipv4{}) continue;
      if (port.rail == 0) {
        bmc = port.address;
      } else {
        out.push_back(port.address);
      }
    }
    if (out.size() == before && bmc != Ipv4{}) out.push_back(bmc);
  }
  return out;
}

bool is_host_text(std::string_view text) {
  if (parse_ipv4(text).ok() || parse_ipv6(text).ok()) return true;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 253) return false;
  char before = '.';
  for (const char c : text) {
    const bool edge = before == '.' || c == '.';
    if (!plain(c) && c != '-' && c != '.') return false;
    if (edge && (c == '-' || (c == '.' && !plain(before)))) return false;
    before = c;
  }
  return plain(before);
}

std::string fabric_source(model::FabricKind kind) { return fmt::format("fabrics.{}", model::to_text(kind)); }

Ipv6 gateway_ipv6(const model::Subnet& subnet) {
  Ipv6 out = subnet.ipv6.base;
  out.groups[6] = static_cast<std::uint16_t>(subnet.gateway.bits >> 16U);
  out.groups[7] = static_cast<std::uint16_t>(subnet.gateway.bits & 0xFFFFU);
  return out;
}

}  // namespace weft::render
