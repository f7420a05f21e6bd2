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

// A switched port of a Nexus 9000 has an MTU of 1500 or of the system's jumbo size, nothing between.
constexpr std::int64_t kNxosJumbo = 9216;

std::int64_t mtu_of(const SwitchView& view) {
  const std::int64_t mtu = view.is_oob() ? 1500 : view.fabric->switch_mtu.value;
  return std::min(mtu, kNxosJumbo);
}

std::string vlan_name(std::uint16_t vlan) { return fmt::format("Vlan{}", vlan); }

std::string channel_name(std::uint32_t channel) { return fmt::format("port-channel{}", channel); }

void qos_lines(CliWriter& out, const SwitchView& view, const SwitchLink& link) {
  if (!nxos_has_qos(view) || (link.use != LinkUse::host && link.use != LinkUse::fabric)) return;
  const model::QosSpec& qos = view.fabric->qos.value;
  const char* mode = qos.pfc.value == model::PfcMode::on ? "on" : qos.pfc.value == model::PfcMode::off ? "off" : "auto";
  out.line({"priority-flow-control", "mode", mode});
  if (qos.pfc_watchdog.value) out.line({"priority-flow-control", "watch-dog-interval", "on"});
  out.line({"service-policy", "type", "qos", "input", "ROCE-IN"});
  if (link.speed != nxos_usual_speed(view))
    out.line({"service-policy", "type", "queuing", "output", nxos_queuing_name(link.speed)});
}

void switchport_lines(CliWriter& out, const SwitchView& view, LinkUse use, std::uint16_t vlan) {
  out.line({"switchport"});
  if (use == LinkUse::host) {
    out.line({"switchport", "mode", "access"});
    out.line({"switchport", "access", "vlan", vlan});
    return;
  }
  out.line({"switchport", "mode", "trunk"});
  std::vector<std::uint32_t> vlans;
  if (use == LinkUse::pair) {
    for (const SwitchSegment& segment : view.segments) vlans.push_back(segment.vlan);
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
// links to one neighbour must not share a link-local address.
void routed_lines(CliWriter& out, const NxosInput& input, const SwitchLink& link) {
  out.line({"vrf", "member", input.vrf()});
  out.line({"no", "ip", "redirects"});
  if (link.own.bits != 0) {
    out.line({"ip", "address", fmt::format("{}/31", to_text(link.own))});
    return;
  }
  out.line({"ip", "forward"});
  out.line({"ipv6", "address", "use-link-local-only"});
  out.line({"ipv6", "link-local", "use-bia"});
  out.line({"no", "ipv6", "redirects"});
}

void front_port(CliWriter& out, const NxosInput& input, const SwitchLink& link) {
  const SwitchView& view = input.view;
  const auto port = out.section({"interface", nxos_port_name(link)});
  out.line({"description", CliToken::rest(link.far)});
  const bool routed = link.use == LinkUse::fabric || link.use == LinkUse::external;
  if (routed) {
    out.line({"no", "switchport"});
  } else {
    switchport_lines(out, view, link.use, link.vlan);
  }
  if (mtu_of(view) > 1500) out.line({"mtu", routed ? mtu_of(view) : kNxosJumbo});
  if (link.form != model::FormFactor::rj45) out.line({"speed", link.speed.count() / 1'000'000});
  qos_lines(out, view, link);
  if (routed) routed_lines(out, input, link);
  const bool guarded = view.is_oob() && link.use == LinkUse::host && input.survey.guarded();
  if (guarded) out.line({"ip", "port", "access-group", kNxosGuard, "in"});
  if (link.use == LinkUse::host && link.channel == 0) edge_lines(out);
  if (link.channel != 0) out.line({"channel-group", link.channel, "mode", "active"});
  out.line({"no", "shutdown"});
}

void bundles(CliWriter& out, const SwitchView& view) {
  std::map<std::uint32_t, const SwitchLink*> first;  // of each bundle
  for (const SwitchLink& link : view.links) {
    if (link.channel != 0) first.emplace(link.channel, &link);
  }
  for (const auto& [channel, link] : first) {
    const bool pair = link->use == LinkUse::pair;
    const auto bundle = out.section({"interface", channel_name(channel)});
    out.line({"description", CliToken::rest(pair ? std::string("vPC peer-link, ") + link->far : link->far)});
    switchport_lines(out, view, link->use, link->vlan);
    if (link->form != model::FormFactor::rj45) out.line({"speed", link->speed.count() / 1'000'000});
    if (pair) {
      out.line({"spanning-tree", "port", "type", "network"});
      out.line({"vpc", "peer-link"});
      continue;
    }
    if (mtu_of(view) > 1500) out.line({"mtu", kNxosJumbo});
    edge_lines(out);
    out.line({"no", "lacp", "suspend-individual"});  // a server that boots over the network has no bond yet
    out.line({"vpc", channel});
  }
}

void gateway_lines(CliWriter& out, const SwitchSegment& segment) {
  bool first = true;
  for (const SwitchGateway& gateway : segment.gateways) {
    const std::string address = fmt::format("{}/{}", to_text(gateway.own), gateway.prefix.length);
    if (first) {
      out.line({"ip", "address", address});
    } else {
      out.line({"ip", "address", address, "secondary"});
    }
    first = false;
    if (gateway.ipv6.length == 0) continue;
    const Ipv6 own = embed_address(gateway.ipv6, gateway.own);
    out.line({"ipv6", "address", fmt::format("{}/{}", to_text(own), gateway.ipv6.length)});
  }
}

void hsrp_lines(CliWriter& out, const SwitchView& view, const SwitchSegment& segment) {
  for (const SwitchGateway& gateway : segment.gateways) {
    if (gateway.shared.bits == 0) continue;
    out.line({"hsrp", "version", 2});
    {
      const auto group = out.section({"hsrp", segment.vlan});
      out.line({"preempt"});
      out.line({"priority", view.side == 0 ? 110 : 100});
      out.line({"ip", gateway.shared});
    }
    if (gateway.ipv6.length == 0) continue;
    const auto group = out.section({"hsrp", segment.vlan, "ipv6"});
    out.line({"preempt"});
    out.line({"priority", view.side == 0 ? 110 : 100});
    out.line({"ip", "autoconfig"});
    out.line({"ip", to_text(embed_address(gateway.ipv6, gateway.shared))});
  }
}

void svi(CliWriter& out, const NxosInput& input, const SwitchSegment& segment) {
  if (segment.gateways.empty()) return;
  const SwitchView& view = input.view;
  const auto port = out.section({"interface", vlan_name(segment.vlan)});
  out.line({"description", CliToken::rest(view.is_oob() ? std::string("out-of-band network") : segment.name)});
  out.line({"no", "shutdown"});
  if (mtu_of(view) > 1500) out.line({"mtu", mtu_of(view)});
  out.line({"vrf", "member", input.vrf()});
  out.line({"no", "ip", "redirects"});
  gateway_lines(out, segment);
  const bool stretched = std::any_of(segment.gateways.begin(), segment.gateways.end(),
                                     [](const SwitchGateway& gateway) { return gateway.stretched; });
  // Hosts of the subnet on other leaves are behind this gateway too.
  if (stretched) out.line({"ip", "local-proxy-arp"});
  if (view.is_oob() && input.survey.guarded()) {
    out.line({"ip", "access-group", kNxosGuard, "in"});
    out.line({"ip", "access-group", kNxosGuard, "out"});
  }
  hsrp_lines(out, view, segment);
}

void breakouts(CliWriter& out, const SwitchView& view) {
  std::map<std::string, std::vector<std::uint32_t>> cages;  // by map
  for (const SwitchLink& link : view.links) {
    if (!link.split()) continue;
    const std::int64_t gigabit = link.speed.count() / 1'000'000'000;
    cages[fmt::format("{}g-{}x", gigabit, link.cage_lanes / link.lanes)].push_back(link.cage);
  }
  if (!cages.empty()) out.separate();
  for (const auto& [map, list] : cages)
    out.line({"interface", "breakout", "module", 1, "port", cli_ranges(list), "map", map});
}

}  // namespace

std::string nxos_port_name(const SwitchLink& link) {
  if (!link.split()) return fmt::format("Ethernet1/{}", link.cage);
  return fmt::format("Ethernet1/{}/{}", link.cage, link.lane / link.lanes + 1);
}

void nxos_vlans(CliWriter& out, const NxosInput& input) {
  const SwitchView& view = input.view;
  for (const SwitchSegment& segment : view.segments) {
    const auto vlan = out.section({"vlan", segment.vlan});
    out.line({"name", CliToken::rest(segment.name, 32)});
  }
  {
    const auto vrf = out.section({"vrf", "context", input.vrf()});
    for (const SwitchSegment& segment : view.segments) {
      for (const SwitchGateway& gateway : segment.gateways) {
        // The next hop is the host itself: the /32 is there to be announced, the subnet as a whole lives elsewhere too.
        for (const Ipv4 host : gateway.hosts)
          out.line({"ip", "route", Ipv4Prefix{host, 32}, vlan_name(segment.vlan), host});
      }
    }
  }
  if (!view.is_oob()) const auto management = out.section({"vrf", "context", "management"});
}

void nxos_pair(CliWriter& out, const NxosInput& input) {
  const SwitchView& view = input.view;
  if (view.mate == model::kNone<model::DeviceId>) return;
  const auto domain = out.section({"vpc", "domain", view.pair % 1000 + 1});
  out.line({"peer-switch"});
  out.line({"role", "priority", view.side == 0 ? 100 : 200});
  out.line({"peer-keepalive", "destination", view.mate_management, "source", view.management, "vrf", "management"});
  out.line({"delay", "restore", 150});  // seconds: routes are back before servers use the links again
  out.line({"peer-gateway"});
  out.line({"layer3", "peer-router"});
  out.line({"auto-recovery"});
  out.line({"ip", "arp", "synchronize"});
}

void nxos_interfaces(CliWriter& out, const NxosInput& input) {
  const SwitchView& view = input.view;
  breakouts(out, view);
  for (const SwitchSegment& segment : view.segments) svi(out, input, segment);
  bundles(out, view);
  for (const SwitchLink& link : view.links) front_port(out, input, link);
  if (view.is_oob()) return;
  if (view.device->loopback.bits != 0) {
    const auto loopback = out.section({"interface", "loopback0"});
    out.line({"vrf", "member", input.vrf()});
    out.line({"ip", "address", Ipv4Prefix{view.device->loopback, 32}});
  }
  if (view.management.bits == 0) return;
  const auto management = out.section({"interface", "mgmt0"});
  out.line({"vrf", "member", "management"});
  const Ipv4Prefix& subnet = input.survey.oob().subnet.value;
  out.line({"ip", "address", fmt::format("{}/{}", to_text(view.management), subnet.length)});
}

}  // namespace weft::render
