// EOS: VLANs, VRFs, interfaces, MLAG. "Ethernet Ports", "Port Channels and LACP", "Multi-Chassis Link Aggregation",
// "VLANs", "IPv4" (virtual routers) of the EOS User Manual.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "render/switches/eos_config.h"

namespace weft::render {
namespace {

// The largest IP packet that EOS routes; switched frames are carried up to their own limit without a setting.
constexpr std::int64_t kEosJumbo = 9214;
// MLAG's session between the two leaves, which never leaves them: link-local (RFC 3927), a /31 (RFC 3021).
constexpr std::uint32_t kPairSession = 0xA9FEFF00U;  // 169.254.255.0
constexpr std::string_view kPairGroup = "MLAG";
// Answers for the shared gateway on both leaves: locally administered.
constexpr std::string_view kGatewayMac = "02:1c:73:00:00:01";

std::int64_t mtu_of(const SwitchView& view) {
  const std::int64_t mtu = view.is_oob() ? 1500 : view.fabric->switch_mtu.value;
  return std::min(mtu, kEosJumbo);
}

std::string vlan_name(std::uint32_t vlan) { return fmt::format("Vlan{}", vlan); }

void switchport_lines(CliWriter& out, const SwitchView& view, LinkUse use, std::uint16_t vlan) {
  if (use == LinkUse::host) {
    out.line({"switchport", "access", "vlan", vlan});
    out.line({"switchport", "mode", "access"});
    out.line({"switchport"});
    return;
  }
  std::vector<std::uint32_t> vlans;
  if (use == LinkUse::pair) {
    for (const SwitchSegment& segment : view.segments) vlans.push_back(segment.vlan);
  } else {
    vlans.push_back(vlan);
  }
  if (!vlans.empty()) out.line({"switchport", "trunk", "allowed", "vlan", cli_ranges(std::move(vlans))});
  out.line({"switchport", "mode", "trunk"});
  if (use == LinkUse::pair) out.line({"switchport", "trunk", "group", kPairGroup});
  out.line({"switchport"});
}

void edge_lines(CliWriter& out) {
  out.line({"spanning-tree", "portfast"});
  out.line({"spanning-tree", "bpduguard", "enable"});
}

void front_port(CliWriter& out, const EosInput& input, const SwitchLink& link) {
  const SwitchView& view = input.view;
  const auto port = out.section({"interface", eos_port_name(link)});
  out.line({"description", CliToken::rest(link.far)});
  const bool routed = link.use == LinkUse::fabric || link.use == LinkUse::external;
  if (routed && mtu_of(view) > 1500) out.line({"mtu", mtu_of(view)});
  if (link.form != model::FormFactor::rj45) out.line({"speed", eos_speed(link)});
  if (link.channel != 0) {
    out.line({"channel-group", link.channel, "mode", "active"});
    return;
  }
  if (routed) {
    out.line({"no", "switchport"});
    out.line({"vrf", input.vrf()});
    if (link.own.bits != 0) {
      out.line({"ip", "address", fmt::format("{}/31", to_text(link.own))});
    } else {
      out.line({"ipv6", "enable"});
    }
  } else {
    switchport_lines(out, view, link.use, link.vlan);
  }
  const bool guarded = view.is_oob() && link.use == LinkUse::host && input.survey.guarded();
  if (guarded) out.line({"ip", "access-group", kEosGuard, "in"});
  if (link.use == LinkUse::host) edge_lines(out);
  const bool lossless = link.use == LinkUse::host || link.use == LinkUse::fabric;
  if (eos_has_qos(view) && lossless) out.line({"service-profile", eos_profile_name(link.speed)});
}

void bundles(CliWriter& out, const SwitchView& view) {
  std::map<std::uint32_t, const SwitchLink*> first;  // of each bundle
  for (const SwitchLink& link : view.links) {
    if (link.channel != 0) first.emplace(link.channel, &link);
  }
  for (const auto& [channel, link] : first) {
    const bool pair = link->use == LinkUse::pair;
    const auto bundle = out.section({"interface", fmt::format("Port-Channel{}", channel)});
    out.line({"description", CliToken::rest(pair ? std::string("MLAG peer-link, ") + link->far : link->far)});
    switchport_lines(out, view, link->use, link->vlan);
    if (pair) continue;
    out.line({"port-channel", "lacp", "fallback", "individual"});  // a server that boots over the network has no bond
    out.line({"mlag", channel});
    edge_lines(out);
  }
}

void svi(CliWriter& out, const EosInput& input, const SwitchSegment& segment) {
  if (segment.gateways.empty()) return;
  const SwitchView& view = input.view;
  const auto port = out.section({"interface", vlan_name(segment.vlan)});
  out.line({"description", CliToken::rest(view.is_oob() ? std::string("out-of-band network") : segment.name)});
  out.line({"no", "shutdown"});
  if (mtu_of(view) > 1500) out.line({"mtu", mtu_of(view)});
  out.line({"vrf", input.vrf()});
  bool first = true;
  bool stretched = false;
  for (const SwitchGateway& gateway : segment.gateways) {
    const std::string address = fmt::format("{}/{}", to_text(gateway.own), gateway.prefix.length);
    if (first) {
      out.line({"ip", "address", address});
    } else {
      out.line({"ip", "address", address, "secondary"});
    }
    first = false;
    stretched = stretched || gateway.stretched;
    if (gateway.ipv6.length == 0) continue;
    const std::string own = to_text(embed_address(gateway.ipv6, gateway.own));
    out.line({"ipv6", "address", fmt::format("{}/{}", own, gateway.ipv6.length)});
  }
  // Hosts of the subnet on other leaves are behind this gateway too.
  if (stretched) out.line({"ip", "local-proxy-arp"});
  if (view.is_oob() && input.survey.guarded()) {
    out.line({"ip", "access-group", kEosGuard, "in"});
    out.line({"ip", "access-group", kEosGuard, "out"});
  }
  for (const SwitchGateway& gateway : segment.gateways) {
    if (gateway.shared.bits == 0) continue;
    out.line({"ip", "virtual-router", "address", gateway.shared});
    if (gateway.ipv6.length != 0)
      out.line({"ipv6", "virtual-router", "address", to_text(embed_address(gateway.ipv6, gateway.shared))});
  }
}

void pair_svi(CliWriter& out, const EosInput& input) {
  if (input.view.mate == model::kNone<model::DeviceId>) return;
  const auto port = out.section({"interface", vlan_name(input.pair_vlan())});
  out.line({"description", CliToken::rest("MLAG session")});
  out.line({"no", "shutdown"});
  out.line({"no", "autostate"});
  out.line({"ip", "address", fmt::format("{}/31", to_text(Ipv4{kPairSession + input.view.side}))});
}

}  // namespace

std::string eos_port_name(const SwitchLink& link) {
  if (link.cage_lanes == 1) return fmt::format("Ethernet{}", link.cage);
  return fmt::format("Ethernet{}/{}", link.cage, link.lane + 1);
}

// "400g-4": speed and electrical lanes; up to 40G the speed alone. A cage that runs slower than its lanes allow does so
// over four of them, as QSFP modules do.
std::string eos_speed(const SwitchLink& link) {
  const std::int64_t gigabit = link.speed.count() / 1'000'000'000;
  if (gigabit < 50) return fmt::format("{}g", gigabit);
  const std::uint32_t lanes = gigabit <= 200 ? std::min(link.lanes, 4U) : link.lanes;
  return fmt::format("{}g-{}", gigabit, gigabit == 50 ? std::min(lanes, 2U) : lanes);
}

void eos_vlans(CliWriter& out, const EosInput& input) {
  for (const SwitchSegment& segment : input.view.segments) {
    const auto vlan = out.section({"vlan", segment.vlan});
    out.line({"name", CliToken::rest(segment.name, 32)});
  }
  if (input.view.mate != model::kNone<model::DeviceId>) {
    const auto vlan = out.section({"vlan", input.pair_vlan()});
    out.line({"name", "MLAG"});
    out.line({"trunk", "group", kPairGroup});
  }
  { const auto vrf = out.section({"vrf", "instance", input.vrf()}); }
  if (input.management_vrf() != input.vrf()) const auto vrf = out.section({"vrf", "instance", input.management_vrf()});
}

void eos_interfaces(CliWriter& out, const EosInput& input) {
  const SwitchView& view = input.view;
  bundles(out, view);
  for (const SwitchLink& link : view.links) front_port(out, input, link);
  if (!view.is_oob() && view.device->loopback.bits != 0) {
    const auto loopback = out.section({"interface", "Loopback0"});
    out.line({"vrf", input.vrf()});
    out.line({"ip", "address", Ipv4Prefix{view.device->loopback, 32}});
  }
  if (!view.is_oob() && view.management.bits != 0) {
    const auto management = out.section({"interface", "Management1"});
    out.line({"vrf", input.management_vrf()});
    const Ipv4Prefix& subnet = input.survey.oob().subnet.value;
    out.line({"ip", "address", fmt::format("{}/{}", to_text(view.management), subnet.length)});
  }
  for (const SwitchSegment& segment : view.segments) svi(out, input, segment);
  pair_svi(out, input);
  if (view.mate == model::kNone<model::DeviceId>) return;
  out.separate();
  out.line({"ip", "virtual-router", "mac-address", kGatewayMac});
}

void eos_pair(CliWriter& out, const EosInput& input) {
  const SwitchView& view = input.view;
  if (view.mate == model::kNone<model::DeviceId>) return;
  const auto mlag = out.section({"mlag", "configuration"});
  out.line({"domain-id", fmt::format("pair-{}", view.pair + 1)});
  out.line({"local-interface", vlan_name(input.pair_vlan())});
  out.line({"peer-address", Ipv4{kPairSession + 1 - view.side}});
  if (view.mate_management.bits != 0)
    out.line({"peer-address", "heartbeat", view.mate_management, "vrf", input.management_vrf()});
  out.line({"peer-link", fmt::format("Port-Channel{}", kPairChannel)});
  out.line({"dual-primary", "detection", "delay", 10, "action", "errdisable", "all-interfaces"});
  out.line({"reload-delay", "mlag", 300});  // seconds: routes are back before servers use the links again
  out.line({"reload-delay", "non-mlag", 330});
}

}  // namespace weft::render
