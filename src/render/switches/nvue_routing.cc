// NVUE: the fabric's VRF, BGP between its switches, and the access lists of the out-of-band network.
#include <fmt/format.h>

#include <algorithm>

#include "render/switches/nvue_commands.h"

namespace weft::render::nvue_render {
namespace {

constexpr std::string_view kFabricGroup = "fabric";
constexpr std::string_view kNodesGroup = "nodes";
constexpr std::string_view kJumpOnly = "JUMP-ONLY";
constexpr int kMaxPaths = 128;

void add_peers(Commands& commands, const SwitchPlan& plan, const std::string& bgp) {
  const std::string bfd = plan.fabric->bfd.value ? "on" : "off";
  commands.set_at(bgp, {"peer-group", kFabricGroup, "bfd", "enable", bfd});
  commands.set_at(bgp, {"peer-group", kFabricGroup, "address-family", "ipv4-unicast", "enable", "on"});
  // Sessions over numbered links have only IPv4 addresses, hence no next hop for IPv6.
  const bool unnumbered = std::any_of(plan.ports.begin(), plan.ports.end(),
                                      [](const SwitchPort& port) { return port.is_routed() && !port.is_numbered(); });
  if (plan.has_ipv6() && unnumbered)
    commands.set_at(bgp, {"peer-group", kFabricGroup, "address-family", "ipv6-unicast", "enable", "on"});
  for (const SwitchPort& port : plan.ports) {
    if (!port.is_routed()) continue;
    const std::string name = port_name(port);
    commands.set({"interface", name, "ip", "vrf", plan.kernel_vrf()});
    std::string peer = name;
    if (port.is_numbered()) {
      commands.set({"interface", name, "ip", "address", fmt::format("{}/31", to_text(port.address))});
      peer = to_text(port.peer_address);
    }
    commands.set_at(bgp, {"neighbor", peer, "type", port.is_numbered() ? "numbered" : "unnumbered"});
    commands.set_at(bgp, {"neighbor", peer, "peer-group", kFabricGroup});
    commands.set_at(bgp, {"neighbor", peer, "remote-as",
                          port.use == SwitchPort::Use::external ? "external" : std::to_string(port.peer_asn)});
    commands.set_at(bgp, {"neighbor", peer, "description", port.peer_name});
  }
}

// Kubernetes nodes announce service addresses to the first frontend leaves; nothing is announced to them.
void add_nodes(Commands& commands, const NodePeering& nodes, const std::string& bgp) {
  if (nodes.asn == 0) return;
  const std::string list = "router policy prefix-list SERVICES";
  commands.set_at(list, {"rule", "10", "match", to_text(nodes.services), "min-prefix-len", "32"});
  commands.set_at(list, {"rule", "10", "action", "permit"});
  commands.set_at("router policy prefix-list NOTHING", {"rule", "10", "match", "0.0.0.0/0", "max-prefix-len", "32"});
  commands.set_at("router policy prefix-list NOTHING", {"rule", "10", "action", "deny"});
  const std::string group = fmt::format("{} peer-group {}", bgp, kNodesGroup);
  commands.set_at(group, {"remote-as", std::to_string(nodes.asn)});
  commands.set_at(group, {"passive-mode", "on"});
  commands.set_at(group, {"address-family", "ipv4-unicast", "policy", "inbound", "prefix-list", "SERVICES"});
  commands.set_at(group, {"address-family", "ipv4-unicast", "policy", "outbound", "prefix-list", "NOTHING"});
  commands.set_at(bgp, {"dynamic-neighbor", "listen-range", to_text(nodes.hosts), "peer-group", kNodesGroup});
}

// One subnet over several pairs: each pair announces its own hosts.
void add_host_routes(Commands& commands, const SwitchPlan& plan, const std::string& bgp) {
  if (!plan.is_stretched()) return;
  for (const SwitchVlan& vlan : plan.vlans) {
    for (const SwitchGateway& gateway : vlan.gateways) {
      for (const Ipv4 host : gateway.hosts) {
        commands.set({"vrf", plan.kernel_vrf(), "router", "static", to_text(host) + "/32", "via",
                      fmt::format("vlan{}", vlan.id)});
      }
    }
  }
  commands.set_at(bgp, {"address-family", "ipv4-unicast", "redistribute", "static", "enable", "on"});
}

// "Adaptive Routing" of the NVUE Command Reference: enabled globally, then on each routed port.
void add_adaptive_routing(Commands& commands, const SwitchPlan& plan) {
  const std::string ports =
      names_where(plan, [](const SwitchPort& port) { return port.use == SwitchPort::Use::fabric; });
  if (ports.empty() || !has_adaptive_routing(*plan.model, plan.fabric->load_balancing.value)) return;
  commands.set({"router", "adaptive-routing", "enable", "on"});
  commands.set({"interface", ports, "router", "adaptive-routing", "enable", "on"});
}

void add_guard_rule(Commands& commands, const std::string& place, const GuardRule& rule) {
  commands.set_at(place, {"match", "ip", "source-ip", to_text(rule.source)});
  commands.set_at(place, {"match", "ip", "dest-ip", to_text(rule.destination)});
  if (rule.protocol != GuardRule::Protocol::any) {
    const std::string_view protocol = rule.protocol == GuardRule::Protocol::udp ? "udp" : "tcp";
    commands.set_at(place, {"match", "ip", "protocol", protocol});
    if (rule.source_port != 0)
      commands.set_at(place, {"match", "ip", protocol, "source-port", std::to_string(rule.source_port)});
    if (rule.destination_port != 0)
      commands.set_at(place, {"match", "ip", protocol, "dest-port", std::to_string(rule.destination_port)});
  }
  commands.set_at(place, {"action", "permit"});
}

}  // namespace

bool has_adaptive_routing(const model::SwitchModel& model, model::LoadBalancing load_balancing) {
  return load_balancing == model::LoadBalancing::adaptive && model.asic.value == "Spectrum-4";
}

void add_routing(Commands& commands, const SwitchPlan& plan) {
  if (!plan.routes() || plan.device->asn == 0) return;
  commands.comment("Routing: eBGP, one ASN per switch");
  const std::string asn = std::to_string(plan.device->asn);
  const std::string id = to_text(plan.device->loopback);
  const std::string bgp = fmt::format("vrf {} router bgp", plan.kernel_vrf());
  commands.set({"vrf", plan.kernel_vrf(), "loopback", "ip", "address", id + "/32"});
  commands.set({"router", "bgp", "enable", "on"});
  commands.set({"router", "bgp", "autonomous-system", asn});
  commands.set({"router", "bgp", "router-id", id});
  commands.set_at(bgp, {"autonomous-system", asn});
  commands.set_at(bgp, {"router-id", id});
  commands.set_at(bgp, {"path-selection", "multipath", "aspath-ignore", "on"});
  std::vector<std::string_view> families{"ipv4-unicast"};
  if (plan.has_ipv6()) families.emplace_back("ipv6-unicast");
  for (const std::string_view family : families) {
    commands.set_at(bgp, {"address-family", family, "enable", "on"});
    commands.set_at(bgp, {"address-family", family, "redistribute", "connected", "enable", "on"});
    commands.set_at(bgp, {"address-family", family, "multipaths", "ebgp", std::to_string(kMaxPaths)});
  }
  const bool peers =
      std::any_of(plan.ports.begin(), plan.ports.end(), [](const SwitchPort& port) { return port.is_routed(); });
  if (peers) add_peers(commands, plan, bgp);
  add_nodes(commands, plan.nodes, bgp);
  add_host_routes(commands, plan, bgp);
  add_adaptive_routing(commands, plan);
  if (!plan.fabric->hash_seeds.value) return;
  const int seed = static_cast<int>(plan.group->fabric) * 10 + static_cast<int>(plan.group->tier);
  commands.set({"system", "forwarding", "hash-seed", std::to_string(seed)});
}

// Managed ports may send to jump hosts and to the services; everything else is dropped.
void add_access_lists(Commands& commands, const RenderPlan& render, const SwitchPlan& plan) {
  const std::vector<GuardRule> guard = guard_rules(render, plan);
  if (guard.empty()) return;
  commands.comment("Managed devices communicate only with jump hosts and their services");
  const std::string list = fmt::format("acl {}", kJumpOnly);
  commands.set_at(list, {"type", "ipv4"});
  int number = 0;
  const auto next = [&] { return fmt::format("{} rule {}", list, number += 10); };
  for (const GuardRule& rule : guard) add_guard_rule(commands, next(), rule);
  const std::string last = next();
  commands.set_at(last, {"match", "ip", "source-ip", "ANY"});
  commands.set_at(last, {"action", "deny"});
  const std::vector<model::DeviceId>& hosts = render.jump_hosts();
  const model::Cluster& cluster = render.cluster();
  const std::string ports = names_where(plan, [&](const SwitchPort& port) {
    const bool jump = std::find(hosts.begin(), hosts.end(), port.peer) != hosts.end();
    return port.use == SwitchPort::Use::host && (!jump || cluster.port(cluster.peer_of(port.id)).rail == 0);
  });
  if (!ports.empty()) commands.set({"interface", ports, "acl", kJumpOnly, "inbound"});
  for (const SwitchVlan& vlan : plan.vlans) {
    commands.set({"interface", fmt::format("vlan{}", vlan.id), "acl", kJumpOnly, "inbound"});
  }
}

}  // namespace weft::render::nvue_render
