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

bool numbered(const SwitchPlan& plan) { return plan.fabric->switch_links.value == model::LinkAddressing::numbered; }

void forwarding(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (plan.oob()) return;  // no routing there
  out.separate();
  out.line({"ip", "routing"});
  if (plan.has_fabric_links() && !numbered(plan)) {
    out.line({"ip", "routing", "ipv6", "interfaces", "vrf", input.plan.vrf});
  } else {
    out.line({"ip", "routing", "vrf", input.plan.vrf});
  }
  const bool ipv6 = plan.has_ipv6() || (plan.has_fabric_links() && !numbered(plan));
  if (ipv6) out.line({"ipv6", "unicast-routing", "vrf", input.plan.vrf});
  // Chips of this family support seeds 0 to 5; each tier has its own.
  const std::string& asic = plan.group->network_switch->asic.value;
  const bool seeded = asic.find("Tomahawk") != std::string::npos || asic.find("Trident") != std::string::npos;
  if (plan.has_fabric_links() && plan.fabric->hash_seeds.value && seeded)
    out.line({"ip", "load-sharing", "trident", hash_seed(plan)});
}

void host_routes(CliWriter& out, const CliSwitch& input) {
  out.separate();
  for (const SwitchVlan& vlan : input.plan.vlans) {
    for (const SwitchGateway& gateway : vlan.gateways) {
      for (const Ipv4 host : gateway.hosts)
        out.line({"ip", "route", "vrf", input.plan.vrf, Ipv4Prefix{host, 32}, fmt::format("Vlan{}", vlan.id), host});
    }
  }
}

void services_list(CliWriter& out, const CliSwitch& input) {
  if (input.plan.nodes.asn == 0) return;
  const auto list = out.section({"ip", "prefix-list", kEosServices});
  out.line({"seq", 10, "permit", input.plan.nodes.services, "ge", 32});
}

bool has_pair_session(const SwitchPlan& plan) {
  if (!plan.has_pair() || !plan.has_fabric_links()) return false;
  return std::any_of(plan.vlans.begin(), plan.vlans.end(),
                     [](const SwitchVlan& vlan) { return !vlan.gateways.empty(); });
}

void peer_groups(CliWriter& out, const SwitchPlan& plan) {
  const auto group = [&](std::string_view name) {
    out.line({"neighbor", name, "peer", "group"});
    if (plan.fabric->bfd.value && name != kNodePeers) out.line({"neighbor", name, "bfd"});
  };
  if (plan.has_fabric_links()) group(kFabricPeers);
  if (plan.nodes.asn != 0) {
    group(kNodePeers);
    out.line({"neighbor", kNodePeers, "ebgp-multihop", 2});
  }
  if (has_pair_session(plan)) group(kPairPeers);
}

void neighbors(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  for (const SwitchPort& port : plan.ports) {
    if (port.use != SwitchPort::Use::fabric) continue;
    if (!port.is_numbered()) {
      out.line({"neighbor", "interface", eos_port_name(port), "peer-group", kFabricPeers, "remote-as", port.peer_asn});
      continue;
    }
    out.line({"neighbor", port.peer_address, "peer", "group", kFabricPeers});
    out.line({"neighbor", port.peer_address, "remote-as", port.peer_asn});
    out.line({"neighbor", port.peer_address, "description", CliToken::rest(port.peer_name)});
  }
  if (!has_pair_session(plan)) return;
  // A leaf that lost its uplinks forwards through its pair.
  const auto vlan =
      std::find_if(plan.vlans.begin(), plan.vlans.end(), [](const SwitchVlan& one) { return !one.gateways.empty(); });
  const Ipv4 other = vlan->gateways.front().pair_own;
  out.line({"neighbor", other, "peer", "group", kPairPeers});
  out.line({"neighbor", other, "remote-as", input.cluster().device(plan.pair).asn});
  out.line({"neighbor", other, "description", CliToken::rest(input.cluster().name_of(plan.pair))});
}

void family_ipv4(CliWriter& out, const SwitchPlan& plan) {
  const auto family = out.section({"address-family", "ipv4"});
  if (plan.has_fabric_links()) {
    out.line({"neighbor", kFabricPeers, "activate"});
    if (!numbered(plan)) out.line({"neighbor", kFabricPeers, "next-hop", "address-family", "ipv6", "originate"});
  }
  if (plan.nodes.asn != 0) {
    out.line({"neighbor", kNodePeers, "activate"});
    out.line({"neighbor", kNodePeers, "prefix-list", kEosServices, "in"});
  }
  if (has_pair_session(plan)) out.line({"neighbor", kPairPeers, "activate"});
  if (plan.device->loopback.bits != 0) out.line({"network", Ipv4Prefix{plan.device->loopback, 32}});
  for (const SwitchVlan& vlan : plan.vlans) {
    for (const SwitchGateway& gateway : vlan.gateways) {
      if (!gateway.stretched) out.line({"network", gateway.prefix});
      for (const Ipv4 host : gateway.hosts) out.line({"network", Ipv4Prefix{host, 32}});
    }
  }
}

void family_ipv6(CliWriter& out, const SwitchPlan& plan) {
  if (!plan.has_ipv6() || !plan.has_fabric_links() || numbered(plan)) return;
  const auto family = out.section({"address-family", "ipv6"});
  out.line({"neighbor", kFabricPeers, "activate"});
  for (const SwitchVlan& vlan : plan.vlans) {
    for (const SwitchGateway& gateway : vlan.gateways) {
      if (gateway.ipv6.length != 0 && !gateway.stretched) out.line({"network", to_text(gateway.ipv6)});
    }
  }
}

void bgp(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  const auto router = out.section({"router", "bgp", plan.device->asn});
  if (plan.device->loopback.bits != 0) out.line({"router-id", plan.device->loopback});
  out.line({"no", "bgp", "default", "ipv4-unicast"});
  peer_groups(out, plan);
  const auto vrf = out.section({"vrf", input.plan.vrf});
  if (plan.device->loopback.bits != 0) out.line({"router-id", plan.device->loopback});
  const std::uint32_t paths = equal_paths(plan);
  out.line({"maximum-paths", paths, "ecmp", paths});
  if (plan.nodes.asn != 0) {
    out.line({"bgp", "listen", "range", plan.nodes.hosts, "peer-group", kNodePeers, "remote-as", plan.nodes.asn});
  }
  neighbors(out, input);
  family_ipv4(out, plan);
  family_ipv6(out, plan);
}

void ssh(CliWriter& out, const CliSwitch& input) {
  const auto section = out.section({"management", "ssh"});
  out.line({"idle-timeout", 15});
  const auto vrf = out.section({"vrf", eos_management_vrf(input.plan)});
  out.line({"no", "shutdown"});
}

}  // namespace

void eos_routing(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  forwarding(out, input);
  if (!plan.oob()) {
    services_list(out, input);
    host_routes(out, input);
    if (plan.has_fabric_links() && plan.fabric->bfd.value) {
      const auto bfd = out.section({"router", "bfd"});
      out.line({"interval", 100, "min-rx", 100, "multiplier", 3, "default"});
    }
    if (plan.has_fabric_links() || plan.nodes.asn != 0) bgp(out, input);
  }
  ssh(out, input);
}

}  // namespace weft::render
