// NX-OS: VLANs, VRFs, vPC and interfaces. Interfaces Configuration Guide ("Configuring Basic Interface Parameters",
// "Configuring Layer 3 Interfaces", "Configuring vPCs", breakout), Layer 2 Switching Configuration Guide, Unicast
// Routing Configuration Guide ("Configuring HSRP").
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "render/switches/nxos_config.h"

namespace weft::render {
namespace {

// A switched port of a Nexus 9000 has an MTU of 1500 or of the system's jumbo size, nothing in between.
constexpr std::int64_t kNxosJumbo = 9216;

std::int64_t mtu_of(const SwitchPlan& plan) { return std::min(plan.mtu, kNxosJumbo); }

std::string vlan_name(std::uint16_t vlan) { return fmt::format("Vlan{}", vlan); }

std::string channel_name(std::uint32_t channel) { return fmt::format("port-channel{}", channel); }

void qos_lines(CliWriter& out, const SwitchPlan& plan, const SwitchPort& port) {
  if (!nxos_has_qos(plan) || (port.use != SwitchPort::Use::host && port.use != SwitchPort::Use::fabric)) return;
  const model::QosSpec& qos = plan.fabric->qos.value;
  const char* mode = qos.pfc.value == model::PfcMode::on ? "on" : qos.pfc.value == model::PfcMode::off ? "off" : "auto";
  out.line({"priority-flow-control", "mode", mode});
  if (qos.pfc_watchdog.value) out.line({"priority-flow-control", "watch-dog-interval", "on"});
  out.line({"service-policy", "type", "qos", "input", "ROCE-IN"});
  if (port.speed != nxos_usual_speed(plan))
    out.line({"service-policy", "type", "queuing", "output", nxos_queuing_name(port.speed)});
}

void switchport_lines(CliWriter& out, const SwitchPlan& plan, SwitchPort::Use use, std::uint16_t vlan) {
  out.line({"switchport"});
  if (use == SwitchPort::Use::host) {
    out.line({"switchport", "mode", "access"});
    out.line({"switchport", "access", "vlan", vlan});
    return;
  }
  out.line({"switchport", "mode", "trunk"});
  std::vector<std::uint32_t> vlans;
  if (use == SwitchPort::Use::pair_link) {
    for (const SwitchVlan& one : plan.vlans) vlans.push_back(one.id);
  } else {
    vlans.push_back(vlan);
  }
  out.line({"switchport", "trunk", "allowed", "vlan", cli_ranges(std::move(vlans))});
}

void edge_lines(CliWriter& out) {
  out.line({"spanning-tree", "port", "type", "edge"});
  out.line({"spanning-tree", "bpduguard", "enable"});
}

// Unicast Routing Configuration Guide, "Configuring Advanced BGP", interface peering via IPv6 link-local. use-bia: two
// links to one neighbor must not share a link-local address.
void routed_lines(CliWriter& out, const CliSwitch& input, const SwitchPort& port) {
  out.line({"vrf", "member", input.plan.vrf});
  out.line({"no", "ip", "redirects"});
  if (port.is_numbered()) {
    out.line({"ip", "address", fmt::format("{}/31", to_text(port.address))});
    return;
  }
  out.line({"ip", "forward"});
  out.line({"ipv6", "address", "use-link-local-only"});
  out.line({"ipv6", "link-local", "use-bia"});
  out.line({"no", "ipv6", "redirects"});
}

void front_port(CliWriter& out, const CliSwitch& input, const SwitchPort& port) {
  const SwitchPlan& plan = input.plan;
  const auto section = out.section({"interface", nxos_port_name(port)});
  out.line({"description", CliToken::rest(port.far_end())});
  const bool routed = port.is_routed();
  if (routed) {
    out.line({"no", "switchport"});
  } else {
    switchport_lines(out, plan, port.use, port.vlan);
  }
  if (mtu_of(plan) > 1500) out.line({"mtu", routed ? mtu_of(plan) : kNxosJumbo});
  if (port.form != model::FormFactor::rj45) out.line({"speed", port.speed.count() / 1'000'000});
  qos_lines(out, plan, port);
  if (routed) routed_lines(out, input, port);
  const bool guarded = plan.oob() && port.use == SwitchPort::Use::host && !input.guard.empty();
  if (guarded) out.line({"ip", "port", "access-group", kNxosGuard, "in"});
  if (port.use == SwitchPort::Use::host && channel_of(port) == 0) edge_lines(out);
  if (channel_of(port) != 0) out.line({"channel-group", channel_of(port), "mode", "active"});
  out.line({"no", "shutdown"});
}

void bundles(CliWriter& out, const SwitchPlan& plan) {
  std::map<std::uint32_t, const SwitchPort*> first;  // of each bundle
  for (const SwitchPort& port : plan.ports) {
    if (channel_of(port) != 0) first.emplace(channel_of(port), &port);
  }
  for (const auto& [channel, port] : first) {
    const bool pair = port->use == SwitchPort::Use::pair_link;
    const auto bundle = out.section({"interface", channel_name(channel)});
    out.line(
        {"description", CliToken::rest(pair ? std::string("vPC peer-link, ") + port->far_end() : port->far_end())});
    switchport_lines(out, plan, port->use, port->vlan);
    if (port->form != model::FormFactor::rj45) out.line({"speed", port->speed.count() / 1'000'000});
    if (pair) {
      out.line({"spanning-tree", "port", "type", "network"});
      out.line({"vpc", "peer-link"});
      continue;
    }
    if (mtu_of(plan) > 1500) out.line({"mtu", kNxosJumbo});
    edge_lines(out);
    out.line({"no", "lacp", "suspend-individual"});  // a server has no bond yet during network boot
    out.line({"vpc", channel});
  }
}

void gateway_lines(CliWriter& out, const SwitchVlan& vlan) {
  bool first = true;
  for (const SwitchGateway& gateway : vlan.gateways) {
    for (const Ipv4 own : gateway.addresses()) {
      const std::string address = fmt::format("{}/{}", to_text(own), gateway.prefix.length);
      if (first) {
        out.line({"ip", "address", address});
      } else {
        out.line({"ip", "address", address, "secondary"});
      }
      first = false;
      if (gateway.ipv6.length == 0) continue;
      const Ipv6 embedded = embed_address(gateway.ipv6, own);
      out.line({"ipv6", "address", fmt::format("{}/{}", to_text(embedded), gateway.ipv6.length)});
    }
  }
}

void hsrp_lines(CliWriter& out, const SwitchPlan& plan, const SwitchVlan& vlan) {
  for (const SwitchGateway& gateway : vlan.gateways) {
    if (!gateway.shared) continue;
    out.line({"hsrp", "version", 2});
    {
      const auto group = out.section({"hsrp", vlan.id});
      out.line({"preempt"});
      out.line({"priority", plan.side == 0 ? 110 : 100});
      out.line({"ip", gateway.address});
    }
    if (gateway.ipv6.length == 0) continue;
    const auto group = out.section({"hsrp", vlan.id, "ipv6"});
    out.line({"preempt"});
    out.line({"priority", plan.side == 0 ? 110 : 100});
    out.line({"ip", "autoconfig"});
    out.line({"ip", to_text(embed_address(gateway.ipv6, gateway.address))});
  }
}

void svi(CliWriter& out, const CliSwitch& input, const SwitchVlan& vlan) {
  if (vlan.gateways.empty()) return;
  const SwitchPlan& plan = input.plan;
  const auto section = out.section({"interface", vlan_name(vlan.id)});
  out.line({"description", CliToken::rest(plan.oob() ? vlan.description : vlan.name)});
  out.line({"no", "shutdown"});
  if (mtu_of(plan) > 1500) out.line({"mtu", mtu_of(plan)});
  out.line({"vrf", "member", input.plan.vrf});
  out.line({"no", "ip", "redirects"});
  gateway_lines(out, vlan);
  // Hosts of the subnet on other leaves are reached through this gateway too.
  if (vlan.is_stretched()) out.line({"ip", "local-proxy-arp"});
  if (plan.oob() && !input.guard.empty()) {
    out.line({"ip", "access-group", kNxosGuard, "in"});
    out.line({"ip", "access-group", kNxosGuard, "out"});
  }
  hsrp_lines(out, plan, vlan);
}

void breakouts(CliWriter& out, const SwitchPlan& plan) {
  std::map<std::string, std::vector<std::uint32_t>> cages;  // by map
  for (const SwitchPort& port : plan.ports) {
    if (!port.is_split()) continue;
    const std::int64_t gigabit = port.speed.count() / 1'000'000'000;
    cages[fmt::format("{}g-{}x", gigabit, port.cage_lanes / port.lanes)].push_back(port.number());
  }
  if (!cages.empty()) out.separate();
  for (const auto& [map, list] : cages)
    out.line({"interface", "breakout", "module", 1, "port", cli_ranges(list), "map", map});
}

}  // namespace

std::string nxos_port_name(const SwitchPort& port) {
  if (!port.is_split()) return fmt::format("Ethernet1/{}", port.number());
  return fmt::format("Ethernet1/{}/{}", port.number(), port.lane / port.lanes + 1);
}

void nxos_vlans(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  for (const SwitchVlan& vlan : plan.vlans) {
    const auto section = out.section({"vlan", vlan.id});
    out.line({"name", CliToken::rest(vlan.name, 32)});
  }
  {
    const auto vrf = out.section({"vrf", "context", input.plan.vrf});
    for (const SwitchVlan& vlan : plan.vlans) {
      for (const SwitchGateway& gateway : vlan.gateways) {
        // The next hop is the host itself: the /32 exists only to be announced, since the subnet is on other leaves
        // too.
        for (const Ipv4 host : gateway.hosts) out.line({"ip", "route", Ipv4Prefix{host, 32}, vlan_name(vlan.id), host});
      }
    }
  }
  if (!plan.oob()) const auto management = out.section({"vrf", "context", "management"});
}

void nxos_pair(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (!plan.has_pair()) return;
  const auto domain = out.section({"vpc", "domain", (plan.pair_number - 1) % 1000 + 1});
  out.line({"peer-switch"});
  out.line({"role", "priority", plan.side == 0 ? 100 : 200});
  out.line({"peer-keepalive", "destination", plan.pair_management, "source", plan.management, "vrf", "management"});
  out.line({"delay", "restore", 150});  // seconds: routes are restored before servers use the links again
  out.line({"peer-gateway"});
  out.line({"layer3", "peer-router"});
  out.line({"auto-recovery"});
  out.line({"ip", "arp", "synchronize"});
}

void nxos_interfaces(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  breakouts(out, plan);
  for (const SwitchVlan& vlan : plan.vlans) svi(out, input, vlan);
  bundles(out, plan);
  for (const SwitchPort& port : plan.ports) front_port(out, input, port);
  if (plan.oob()) return;
  if (plan.device->loopback.bits != 0) {
    const auto loopback = out.section({"interface", "loopback0"});
    out.line({"vrf", "member", input.plan.vrf});
    out.line({"ip", "address", Ipv4Prefix{plan.device->loopback, 32}});
  }
  if (plan.management.bits == 0) return;
  const auto management = out.section({"interface", "mgmt0"});
  out.line({"vrf", "member", "management"});
  const Ipv4Prefix& subnet = plan.management_subnet;
  out.line({"ip", "address", fmt::format("{}/{}", to_text(plan.management), subnet.length)});
}

}  // namespace weft::render
