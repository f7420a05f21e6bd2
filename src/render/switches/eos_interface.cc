// EOS: VLANs, VRFs, interfaces, MLAG. "Ethernet Ports", "Port Channels and LACP", "Multi-Chassis Link Aggregation",
// "VLANs", "IPv4" (virtual routers) of the EOS User Manual.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "render/switches/eos_config.h"

namespace weft::render {
namespace {

// The largest IP packet that EOS routes; switched frames are forwarded up to their own limit without a setting.
constexpr std::int64_t kEosJumbo = 9214;
// The MLAG peer session, local to the two leaves: link-local (RFC 3927), a /31 (RFC 3021).
constexpr std::uint32_t kPairSession = 0xA9FEFF00U;  // 169.254.255.0
constexpr std::string_view kPairGroup = "MLAG";
// MAC address of the shared gateway on both leaves: locally administered.
constexpr std::string_view kGatewayMac = "02:1c:73:00:00:01";

std::int64_t mtu_of(const SwitchPlan& plan) { return std::min(plan.mtu, kEosJumbo); }

std::string vlan_name(std::uint32_t vlan) { return fmt::format("Vlan{}", vlan); }

void switchport_lines(CliWriter& out, const SwitchPlan& plan, SwitchPort::Use use, std::uint16_t vlan) {
  if (use == SwitchPort::Use::host) {
    out.line({"switchport", "access", "vlan", vlan});
    out.line({"switchport", "mode", "access"});
    out.line({"switchport"});
    return;
  }
  std::vector<std::uint32_t> vlans;
  if (use == SwitchPort::Use::pair_link) {
    for (const SwitchVlan& one : plan.vlans) vlans.push_back(one.id);
  } else {
    vlans.push_back(vlan);
  }
  if (!vlans.empty()) out.line({"switchport", "trunk", "allowed", "vlan", cli_ranges(std::move(vlans))});
  out.line({"switchport", "mode", "trunk"});
  if (use == SwitchPort::Use::pair_link) out.line({"switchport", "trunk", "group", kPairGroup});
  out.line({"switchport"});
}

void edge_lines(CliWriter& out) {
  out.line({"spanning-tree", "portfast"});
  out.line({"spanning-tree", "bpduguard", "enable"});
}

void front_port(CliWriter& out, const CliSwitch& input, const SwitchPort& port) {
  const SwitchPlan& plan = input.plan;
  const auto section = out.section({"interface", eos_port_name(port)});
  out.line({"description", CliToken::rest(port.far_end())});
  const bool routed = port.is_routed();
  if (routed && mtu_of(plan) > 1500) out.line({"mtu", mtu_of(plan)});
  if (port.form != model::FormFactor::rj45) out.line({"speed", eos_speed(port)});
  if (channel_of(port) != 0) {
    out.line({"channel-group", channel_of(port), "mode", "active"});
    return;
  }
  if (routed) {
    out.line({"no", "switchport"});
    out.line({"vrf", input.plan.vrf});
    if (port.is_numbered()) {
      out.line({"ip", "address", fmt::format("{}/31", to_text(port.address))});
    } else {
      out.line({"ipv6", "enable"});
    }
  } else {
    switchport_lines(out, plan, port.use, port.vlan);
  }
  const bool guarded = plan.oob() && port.use == SwitchPort::Use::host && !input.guard.empty();
  if (guarded) out.line({"ip", "access-group", kEosGuard, "in"});
  if (port.use == SwitchPort::Use::host) edge_lines(out);
  const bool lossless = port.use == SwitchPort::Use::host || port.use == SwitchPort::Use::fabric;
  if (eos_has_qos(plan) && lossless) out.line({"service-profile", eos_profile_name(port.speed)});
}

void bundles(CliWriter& out, const SwitchPlan& plan) {
  std::map<std::uint32_t, const SwitchPort*> first;  // of each bundle
  for (const SwitchPort& port : plan.ports) {
    if (channel_of(port) != 0) first.emplace(channel_of(port), &port);
  }
  for (const auto& [channel, port] : first) {
    const bool pair = port->use == SwitchPort::Use::pair_link;
    const auto bundle = out.section({"interface", fmt::format("Port-Channel{}", channel)});
    out.line(
        {"description", CliToken::rest(pair ? std::string("MLAG peer-link, ") + port->far_end() : port->far_end())});
    switchport_lines(out, plan, port->use, port->vlan);
    if (pair) continue;
    out.line({"port-channel", "lacp", "fallback", "individual"});  // a server has no bond yet during network boot
    out.line({"mlag", channel});
    edge_lines(out);
  }
}

void svi(CliWriter& out, const CliSwitch& input, const SwitchVlan& vlan) {
  if (vlan.gateways.empty()) return;
  const SwitchPlan& plan = input.plan;
  const auto section = out.section({"interface", vlan_name(vlan.id)});
  out.line({"description", CliToken::rest(plan.oob() ? vlan.description : vlan.name)});
  out.line({"no", "shutdown"});
  if (mtu_of(plan) > 1500) out.line({"mtu", mtu_of(plan)});
  out.line({"vrf", input.plan.vrf});
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
      const std::string embedded = to_text(embed_address(gateway.ipv6, own));
      out.line({"ipv6", "address", fmt::format("{}/{}", embedded, gateway.ipv6.length)});
    }
  }
  // Hosts of the subnet on other leaves are reached through this gateway too.
  if (vlan.is_stretched()) out.line({"ip", "local-proxy-arp"});
  if (plan.oob() && !input.guard.empty()) {
    out.line({"ip", "access-group", kEosGuard, "in"});
    out.line({"ip", "access-group", kEosGuard, "out"});
  }
  for (const SwitchGateway& gateway : vlan.gateways) {
    if (!gateway.shared) continue;
    out.line({"ip", "virtual-router", "address", gateway.address});
    if (gateway.ipv6.length != 0)
      out.line({"ipv6", "virtual-router", "address", to_text(embed_address(gateway.ipv6, gateway.address))});
  }
}

void pair_svi(CliWriter& out, const CliSwitch& input) {
  if (!input.plan.has_pair()) return;
  const auto section = out.section({"interface", vlan_name(eos_pair_vlan(input.plan))});
  out.line({"description", CliToken::rest("MLAG session")});
  out.line({"no", "shutdown"});
  out.line({"no", "autostate"});
  out.line({"ip", "address", fmt::format("{}/31", to_text(Ipv4{kPairSession + input.plan.side}))});
}

}  // namespace

std::string eos_port_name(const SwitchPort& port) {
  if (port.cage_lanes == 1) return fmt::format("Ethernet{}", port.number());
  return fmt::format("Ethernet{}/{}", port.number(), port.lane + 1);
}

// "400g-4": speed and electrical lanes; up to 40G only the speed. A cage that runs below its lane speed uses four
// lanes, as QSFP modules do.
std::string eos_speed(const SwitchPort& port) {
  const std::int64_t gigabit = port.speed.count() / 1'000'000'000;
  if (gigabit < 50) return fmt::format("{}g", gigabit);
  const std::uint32_t lanes = gigabit <= 200 ? std::min(port.lanes, 4U) : port.lanes;
  return fmt::format("{}g-{}", gigabit, gigabit == 50 ? std::min(lanes, 2U) : lanes);
}

void eos_vlans(CliWriter& out, const CliSwitch& input) {
  for (const SwitchVlan& vlan : input.plan.vlans) {
    const auto section = out.section({"vlan", vlan.id});
    out.line({"name", CliToken::rest(vlan.name, 32)});
  }
  if (input.plan.has_pair()) {
    const auto section = out.section({"vlan", eos_pair_vlan(input.plan)});
    out.line({"name", "MLAG"});
    out.line({"trunk", "group", kPairGroup});
  }
  { const auto vrf = out.section({"vrf", "instance", input.plan.vrf}); }
  if (eos_management_vrf(input.plan) != input.plan.vrf)
    const auto vrf = out.section({"vrf", "instance", eos_management_vrf(input.plan)});
}

void eos_interfaces(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  bundles(out, plan);
  for (const SwitchPort& port : plan.ports) front_port(out, input, port);
  if (!plan.oob() && plan.device->loopback.bits != 0) {
    const auto loopback = out.section({"interface", "Loopback0"});
    out.line({"vrf", input.plan.vrf});
    out.line({"ip", "address", Ipv4Prefix{plan.device->loopback, 32}});
  }
  if (!plan.oob() && plan.management.bits != 0) {
    const auto management = out.section({"interface", "Management1"});
    out.line({"vrf", eos_management_vrf(input.plan)});
    const Ipv4Prefix& subnet = plan.management_subnet;
    out.line({"ip", "address", fmt::format("{}/{}", to_text(plan.management), subnet.length)});
  }
  for (const SwitchVlan& vlan : plan.vlans) svi(out, input, vlan);
  pair_svi(out, input);
  if (!plan.has_pair()) return;
  out.separate();
  out.line({"ip", "virtual-router", "mac-address", kGatewayMac});
}

void eos_pair(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (!plan.has_pair()) return;
  const auto mlag = out.section({"mlag", "configuration"});
  out.line({"domain-id", fmt::format("pair-{}", plan.pair_number)});
  out.line({"local-interface", vlan_name(eos_pair_vlan(input.plan))});
  out.line({"peer-address", Ipv4{kPairSession + 1 - plan.side}});
  if (plan.pair_management.bits != 0)
    out.line({"peer-address", "heartbeat", plan.pair_management, "vrf", eos_management_vrf(input.plan)});
  out.line({"peer-link", fmt::format("Port-Channel{}", kPairChannel)});
  out.line({"dual-primary", "detection", "delay", 10, "action", "errdisable", "all-interfaces"});
  out.line({"reload-delay", "mlag", 300});  // seconds: routes are restored before servers use the links again
  out.line({"reload-delay", "non-mlag", 330});
}

}  // namespace weft::render
