// EOS: routing, BGP between the tiers (RFC 7938) over unnumbered links (RFC 8950 next hops), BFD, SSH. "Border Gateway
// Protocol", "Bidirectional Forwarding Detection", "Access Management" of the EOS User Manual.
#include <fmt/format.h>

#include <algorithm>

#include "render/switches/eos_config.h"

namespace weft::render {
namespace {

constexpr std::string_view kFabricPeers = "FABRIC";
constexpr std::string_view kPairPeers = "PAIR";
constexpr std::string_view kNodePeers = "NODES";

bool numbered(const SwitchView& view) { return view.fabric->switch_links.value == model::LinkAddressing::numbered; }

void forwarding(CliWriter& out, const EosInput& input) {
  const SwitchView& view = input.view;
  if (view.is_oob()) return;  // nothing routes there
  out.separate();
  out.line({"ip", "routing"});
  if (view.routed() && !numbered(view)) {
    out.line({"ip", "routing", "ipv6", "interfaces", "vrf", input.vrf()});
  } else {
    out.line({"ip", "routing", "vrf", input.vrf()});
  }
  const bool ipv6 = view.fabric->ipv6.has_value() || (view.routed() && !numbered(view));
  if (ipv6) out.line({"ipv6", "unicast-routing", "vrf", input.vrf()});
  // Chips of this family take a seed from 0 to 5; each tier has one of its own.
  const std::string& asic = view.group->network_switch->asic.value;
  const bool seeded = asic.find("Tomahawk") != std::string::npos || asic.find("Trident") != std::string::npos;
  if (view.routed() && view.fabric->hash_seeds.value && seeded)
    out.line({"ip", "load-sharing", "trident", view.hash_seed()});
}

void host_routes(CliWriter& out, const EosInput& input) {
  out.separate();
  for (const SwitchSegment& segment : input.view.segments) {
    for (const SwitchGateway& gateway : segment.gateways) {
      for (const Ipv4 host : gateway.hosts)
        out.line({"ip", "route", "vrf", input.vrf(), Ipv4Prefix{host, 32}, fmt::format("Vlan{}", segment.vlan), host});
    }
  }
}

void services_list(CliWriter& out, const EosInput& input) {
  if (input.view.node_asn == 0) return;
  const auto hosts = input.view.fabric->subnets->front();
  const auto list = out.section({"ip", "prefix-list", kEosServices});
  const Ipv4Prefix services{input.survey.input().plan.service_addresses().first,
                            static_cast<std::uint8_t>(hosts.length + 3)};
  out.line({"seq", 10, "permit", services, "ge", 32});
}

bool has_pair_session(const SwitchView& view) {
  if (view.mate == model::kNone<model::DeviceId> || !view.routed()) return false;
  return std::any_of(view.segments.begin(), view.segments.end(),
                     [](const SwitchSegment& segment) { return !segment.gateways.empty(); });
}

void peer_groups(CliWriter& out, const SwitchView& view) {
  const auto group = [&](std::string_view name) {
    out.line({"neighbor", name, "peer", "group"});
    if (view.fabric->bfd.value && name != kNodePeers) out.line({"neighbor", name, "bfd"});
  };
  if (view.routed()) group(kFabricPeers);
  if (view.node_asn != 0) {
    group(kNodePeers);
    out.line({"neighbor", kNodePeers, "ebgp-multihop", 2});
  }
  if (has_pair_session(view)) group(kPairPeers);
}

void neighbors(CliWriter& out, const EosInput& input) {
  const SwitchView& view = input.view;
  for (const SwitchLink& link : view.links) {
    if (link.use != LinkUse::fabric) continue;
    if (link.own.bits == 0) {
      out.line({"neighbor", "interface", eos_port_name(link), "peer-group", kFabricPeers, "remote-as", link.far_asn});
      continue;
    }
    out.line({"neighbor", link.far_address, "peer", "group", kFabricPeers});
    out.line({"neighbor", link.far_address, "remote-as", link.far_asn});
    out.line({"neighbor", link.far_address, "description", CliToken::rest(input.cluster().name_of(link.far_device))});
  }
  if (!has_pair_session(view)) return;
  // A leaf that lost its uplinks goes on through the other of its pair.
  const auto segment = std::find_if(view.segments.begin(), view.segments.end(),
                                    [](const SwitchSegment& one) { return !one.gateways.empty(); });
  const Ipv4 own = segment->gateways.front().own;
  const Ipv4 other{view.side == 0 ? own.bits + 1 : own.bits - 1};
  out.line({"neighbor", other, "peer", "group", kPairPeers});
  out.line({"neighbor", other, "remote-as", input.cluster().device(view.mate).asn});
  out.line({"neighbor", other, "description", CliToken::rest(input.cluster().name_of(view.mate))});
}

void family_ipv4(CliWriter& out, const SwitchView& view) {
  const auto family = out.section({"address-family", "ipv4"});
  if (view.routed()) {
    out.line({"neighbor", kFabricPeers, "activate"});
    if (!numbered(view)) out.line({"neighbor", kFabricPeers, "next-hop", "address-family", "ipv6", "originate"});
  }
  if (view.node_asn != 0) {
    out.line({"neighbor", kNodePeers, "activate"});
    out.line({"neighbor", kNodePeers, "prefix-list", kEosServices, "in"});
  }
  if (has_pair_session(view)) out.line({"neighbor", kPairPeers, "activate"});
  if (view.device->loopback.bits != 0) out.line({"network", Ipv4Prefix{view.device->loopback, 32}});
  for (const SwitchSegment& segment : view.segments) {
    for (const SwitchGateway& gateway : segment.gateways) {
      if (!gateway.stretched) out.line({"network", gateway.prefix});
      for (const Ipv4 host : gateway.hosts) out.line({"network", Ipv4Prefix{host, 32}});
    }
  }
}

void family_ipv6(CliWriter& out, const SwitchView& view) {
  if (!view.fabric->ipv6.has_value() || !view.routed() || numbered(view)) return;
  const auto family = out.section({"address-family", "ipv6"});
  out.line({"neighbor", kFabricPeers, "activate"});
  for (const SwitchSegment& segment : view.segments) {
    for (const SwitchGateway& gateway : segment.gateways) {
      if (gateway.ipv6.length != 0 && !gateway.stretched) out.line({"network", to_text(gateway.ipv6)});
    }
  }
}

void bgp(CliWriter& out, const EosInput& input) {
  const SwitchView& view = input.view;
  const auto router = out.section({"router", "bgp", view.device->asn});
  if (view.device->loopback.bits != 0) out.line({"router-id", view.device->loopback});
  out.line({"no", "bgp", "default", "ipv4-unicast"});
  peer_groups(out, view);
  const auto vrf = out.section({"vrf", input.vrf()});
  if (view.device->loopback.bits != 0) out.line({"router-id", view.device->loopback});
  const std::uint32_t paths = view.equal_paths();
  out.line({"maximum-paths", paths, "ecmp", paths});
  if (view.node_asn != 0) {
    out.line({"bgp", "listen", "range", view.fabric->subnets->front(), "peer-group", kNodePeers, "remote-as",
              view.node_asn});
  }
  neighbors(out, input);
  family_ipv4(out, view);
  family_ipv6(out, view);
}

void ssh(CliWriter& out, const EosInput& input) {
  const auto section = out.section({"management", "ssh"});
  out.line({"idle-timeout", 15});
  const auto vrf = out.section({"vrf", input.management_vrf()});
  out.line({"no", "shutdown"});
}

}  // namespace

void eos_routing(CliWriter& out, const EosInput& input) {
  const SwitchView& view = input.view;
  forwarding(out, input);
  if (!view.is_oob()) {
    services_list(out, input);
    host_routes(out, input);
    if (view.routed() && view.fabric->bfd.value) {
      const auto bfd = out.section({"router", "bfd"});
      out.line({"interval", 100, "min-rx", 100, "multiplier", 3, "default"});
    }
    if (view.routed() || view.node_asn != 0) bgp(out, input);
  }
  ssh(out, input);
}

}  // namespace weft::render
