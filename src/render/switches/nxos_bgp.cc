// NX-OS: BGP between the tiers (RFC 7938: an AS number per leaf, one for the spines of a pod), with BFD. Unicast
// Routing Configuration Guide, "Configuring Basic BGP", "Configuring Advanced BGP".
#include <fmt/format.h>

#include <algorithm>

#include "render/switches/nxos_config.h"

namespace weft::render {
namespace {

constexpr std::string_view kServices = "SERVICES";

void networks(CliWriter& out, const SwitchPlan& plan) {
  const auto family = out.section({"address-family", "ipv4", "unicast"});
  if (plan.device->loopback.bits != 0) out.line({"network", Ipv4Prefix{plan.device->loopback, 32}});
  for (const SwitchVlan& vlan : plan.vlans) {
    for (const SwitchGateway& gateway : vlan.gateways) {
      if (!gateway.stretched) out.line({"network", gateway.prefix});
      for (const Ipv4 host : gateway.hosts) out.line({"network", Ipv4Prefix{host, 32}});
      // Nodes of other pairs reach this leaf's own address, which they peer with, through its local route.
      if (gateway.stretched && plan.nodes.asn != 0) out.line({"network", Ipv4Prefix{gateway.own, 32}});
    }
  }
  out.line({"maximum-paths", equal_paths(plan)});
}

void networks_ipv6(CliWriter& out, const SwitchPlan& plan) {
  const auto family = out.section({"address-family", "ipv6", "unicast"});
  for (const SwitchVlan& vlan : plan.vlans) {
    for (const SwitchGateway& gateway : vlan.gateways) {
      if (gateway.ipv6.length != 0 && !gateway.stretched) out.line({"network", to_text(gateway.ipv6)});
    }
  }
  out.line({"maximum-paths", equal_paths(plan)});
}

void families(CliWriter& out, const SwitchPlan& plan, bool unnumbered) {
  { const auto ipv4 = out.section({"address-family", "ipv4", "unicast"}); }
  if (plan.has_ipv6() && unnumbered) const auto ipv6 = out.section({"address-family", "ipv6", "unicast"});
}

void fabric_neighbors(CliWriter& out, const CliSwitch& input) {
  for (const SwitchPort& port : input.plan.ports) {
    if (port.use != SwitchPort::Use::fabric) continue;
    const bool numbered = port.is_numbered();
    const auto neighbor = out.section({"neighbor", numbered ? to_text(port.peer_address) : nxos_port_name(port)});
    if (input.plan.fabric->bfd.value) out.line({"bfd"});
    out.line({"remote-as", port.peer_asn});
    out.line({"description", CliToken::rest(port.peer_name)});
    families(out, input.plan, !numbered);
  }
}

// A leaf that lost its uplinks forwards through its pair.
void pair_neighbor(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (!plan.has_pair() || plan.vlans.empty() || !plan.has_fabric_links()) return;
  for (const SwitchVlan& vlan : plan.vlans) {
    if (vlan.gateways.empty()) continue;
    const SwitchGateway& gateway = vlan.gateways.front();
    const auto neighbor = out.section({"neighbor", gateway.pair_own});
    if (plan.fabric->bfd.value) out.line({"bfd"});
    out.line({"remote-as", input.cluster().device(plan.pair).asn});
    out.line({"description", CliToken::rest(input.cluster().name_of(plan.pair))});
    families(out, plan, false);
    return;
  }
}

// Nodes that announce service addresses initiate the session.
void node_neighbors(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (plan.nodes.asn == 0) return;
  const auto nodes = out.section({"neighbor", plan.nodes.hosts});
  out.line({"remote-as", plan.nodes.asn});
  out.line({"description", CliToken::rest("nodes that announce services")});
  out.line({"ebgp-multihop", 2});
  const auto family = out.section({"address-family", "ipv4", "unicast"});
  out.line({"prefix-list", kServices, "in"});
}

}  // namespace

void nxos_bgp(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (plan.oob() || (!plan.has_fabric_links() && plan.nodes.asn == 0)) return;
  if (plan.nodes.asn != 0) {
    out.separate();
    out.line({"ip", "prefix-list", kServices, "seq", 10, "permit", plan.nodes.services, "ge", 32});
  }
  const auto bgp = out.section({"router", "bgp", plan.device->asn});
  out.line({"log-neighbor-changes"});
  const auto vrf = out.section({"vrf", input.plan.vrf});
  if (plan.device->loopback.bits != 0) out.line({"router-id", plan.device->loopback});
  out.line({"bestpath", "as-path", "multipath-relax"});
  networks(out, plan);
  if (plan.has_ipv6()) networks_ipv6(out, plan);
  fabric_neighbors(out, input);
  pair_neighbor(out, input);
  node_neighbors(out, input);
}

}  // namespace weft::render
