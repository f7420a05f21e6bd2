// NX-OS: BGP between the tiers (RFC 7938: a number for each leaf, one for the spines of a pod), with BFD. Unicast
// Routing Configuration Guide, "Configuring Basic BGP", "Configuring Advanced BGP".
#include <fmt/format.h>

#include <algorithm>

#include "render/switches/nxos_config.h"

namespace weft::render {
namespace {

constexpr std::string_view kServices = "SERVICES";

bool has_ipv6(const SwitchView& view) { return view.fabric->ipv6.has_value(); }

void networks(CliWriter& out, const SwitchView& view) {
  const auto family = out.section({"address-family", "ipv4", "unicast"});
  if (view.device->loopback.bits != 0) out.line({"network", Ipv4Prefix{view.device->loopback, 32}});
  for (const SwitchSegment& segment : view.segments) {
    for (const SwitchGateway& gateway : segment.gateways) {
      if (!gateway.stretched) out.line({"network", gateway.prefix});
      for (const Ipv4 host : gateway.hosts) out.line({"network", Ipv4Prefix{host, 32}});
      // Nodes of other pairs reach this leaf's own address, which they peer with, by its local route.
      if (gateway.stretched && view.node_asn != 0) out.line({"network", Ipv4Prefix{gateway.own, 32}});
    }
  }
  out.line({"maximum-paths", view.equal_paths()});
}

void networks_ipv6(CliWriter& out, const SwitchView& view) {
  const auto family = out.section({"address-family", "ipv6", "unicast"});
  for (const SwitchSegment& segment : view.segments) {
    for (const SwitchGateway& gateway : segment.gateways) {
      if (gateway.ipv6.length != 0 && !gateway.stretched) out.line({"network", to_text(gateway.ipv6)});
    }
  }
  out.line({"maximum-paths", view.equal_paths()});
}

void families(CliWriter& out, const SwitchView& view, bool unnumbered) {
  { const auto ipv4 = out.section({"address-family", "ipv4", "unicast"}); }
  if (has_ipv6(view) && unnumbered) const auto ipv6 = out.section({"address-family", "ipv6", "unicast"});
}

void fabric_neighbors(CliWriter& out, const NxosInput& input) {
  for (const SwitchLink& link : input.view.links) {
    if (link.use != LinkUse::fabric) continue;
    const bool numbered = link.own.bits != 0;
    const auto neighbor = out.section({"neighbor", numbered ? to_text(link.far_address) : nxos_port_name(link)});
    if (input.view.fabric->bfd.value) out.line({"bfd"});
    out.line({"remote-as", link.far_asn});
    out.line({"description", CliToken::rest(input.cluster().name_of(link.far_device))});
    families(out, input.view, !numbered);
  }
}

// A leaf that lost its uplinks goes on through the other of its pair.
void pair_neighbor(CliWriter& out, const NxosInput& input) {
  const SwitchView& view = input.view;
  if (view.mate == model::kNone<model::DeviceId> || view.segments.empty() || !view.routed()) return;
  for (const SwitchSegment& segment : view.segments) {
    if (segment.gateways.empty()) continue;
    const SwitchGateway& gateway = segment.gateways.front();
    const Ipv4 other{view.side == 0 ? gateway.own.bits + 1 : gateway.own.bits - 1};
    const auto neighbor = out.section({"neighbor", other});
    if (view.fabric->bfd.value) out.line({"bfd"});
    out.line({"remote-as", input.cluster().device(view.mate).asn});
    out.line({"description", CliToken::rest(input.cluster().name_of(view.mate))});
    families(out, view, false);
    return;
  }
}

// Nodes that announce addresses of services open the session themselves.
void node_neighbors(CliWriter& out, const NxosInput& input) {
  const SwitchView& view = input.view;
  if (view.node_asn == 0) return;
  const Ipv4Prefix hosts = view.fabric->subnets->front();
  const auto nodes = out.section({"neighbor", hosts});
  out.line({"remote-as", view.node_asn});
  out.line({"description", CliToken::rest("nodes that announce services")});
  out.line({"ebgp-multihop", 2});
  const auto family = out.section({"address-family", "ipv4", "unicast"});
  out.line({"prefix-list", kServices, "in"});
}

}  // namespace

void nxos_bgp(CliWriter& out, const NxosInput& input) {
  const SwitchView& view = input.view;
  if (view.is_oob() || (!view.routed() && view.node_asn == 0)) return;
  if (view.node_asn != 0) {
    const Ipv4Prefix hosts = view.fabric->subnets->front();
    // The last eighth of the subnet: RenderPlan::service_addresses.
    const Ipv4Prefix services{input.survey.input().plan.service_addresses().first,
                              static_cast<std::uint8_t>(hosts.length + 3)};
    out.separate();
    out.line({"ip", "prefix-list", kServices, "seq", 10, "permit", services, "ge", 32});
  }
  const auto bgp = out.section({"router", "bgp", view.device->asn});
  out.line({"log-neighbor-changes"});
  const auto vrf = out.section({"vrf", input.vrf()});
  if (view.device->loopback.bits != 0) out.line({"router-id", view.device->loopback});
  out.line({"bestpath", "as-path", "multipath-relax"});
  networks(out, view);
  if (has_ipv6(view)) networks_ipv6(out, view);
  fabric_neighbors(out, input);
  pair_neighbor(out, input);
  node_neighbors(out, input);
}

}  // namespace weft::render
