// Cumulus Linux: one file of `nv set` commands per switch. `nv config apply` applies them as one transaction, so that a
// bad line leaves the switch unchanged.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "render/core/targets.h"
#include "render/switches/nvue_commands.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

using nvue_render::Commands;
using nvue_render::names_where;

constexpr std::string_view kCumulus = "cumulus";
constexpr std::string_view kBridge = "br_default";
constexpr int kDefaultBridgePriority = 32768;

void add_breakouts(Commands& commands, const SwitchPlan& plan) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<int>> cages;  // breakout count, lanes per port: cages
  for (const SwitchPort& port : plan.ports) {
    if (port.pieces() == 1) continue;
    std::vector<int>& list = cages[{port.pieces(), port.lanes}];
    const int number = static_cast<int>(port.cage) + 1;
    if (list.empty() || list.back() != number) list.push_back(number);
  }
  for (const auto& [mode, list] : cages) {
    std::string names = "swp" + nvue_render::number_list(list);
    for (std::size_t at = names.find(','); at != std::string::npos; at = names.find(',', at + 1)) {
      names.insert(at + 1, "swp");
    }
    commands.set({"interface", names, "link", "breakout", fmt::format("{}x", mode.first), "lanes-per-port",
                  std::to_string(mode.second)});
  }
}

void add_links(Commands& commands, const SwitchPlan& plan) {
  std::set<BitRate> speeds;
  for (const SwitchPort& port : plan.ports) speeds.insert(port.speed);
  const std::string all = names_where(plan, [](const SwitchPort&) { return true; });
  const auto copper = [](const SwitchPort& port) { return port.form == model::FormFactor::rj45; };
  for (const BitRate speed : speeds) {
    const std::string names =
        names_where(plan, [&](const SwitchPort& port) { return port.speed == speed && !copper(port); });
    if (names.empty()) continue;  // 1000BASE-T negotiates
    commands.set({"interface", names, "link", "speed", to_text(speed)});
    commands.set({"interface", names, "link", "auto-negotiate", "off"});
    const bool coded = speed == gigabits(25) || speed == gigabits(50) || speed >= gigabits(100);
    commands.set({"interface", names, "link", "fec", coded ? "rs" : "off"});
  }
  commands.set({"interface", all, "link", "mtu", std::to_string(plan.mtu)});
  commands.set({"interface", all, "link", "state", "up"});
  for (const SwitchPort& port : plan.ports) {
    commands.set({"interface", nvue_render::port_name(port), "description", port.far_end()});
  }
}

// Servers bonded over a pair; the peer link creates its own VLAN 4094 for the control traffic between the two.
void add_pair(Commands& commands, const SwitchPlan& plan) {
  const std::string links =
      names_where(plan, [](const SwitchPort& port) { return port.use == SwitchPort::Use::pair_link; });
  if (!plan.has_pair() || links.empty()) return;
  commands.comment("MLAG pair: servers are bonded to both switches");
  commands.set({"interface", "peerlink", "bond", "member", links});
  // 44:38:39:ff:00:00 and up is reserved for MLAG.
  commands.set({"mlag", "mac-address",
                fmt::format("44:38:39:ff:{:02x}:{:02x}", plan.pair_number >> 8U & 0xFFU, plan.pair_number & 0xFFU)});
  commands.set({"mlag", "backup", to_text(plan.pair_management), "vrf", "mgmt"});
  commands.set({"mlag", "peer-ip", "linklocal"});
  commands.set({"mlag", "priority", plan.side == 0 ? "1000" : "2000"});
  commands.set({"mlag", "init-delay", "180"});
  std::map<std::uint32_t, std::vector<const SwitchPort*>> bonds;
  for (const SwitchPort& port : plan.ports) {
    if (port.bond != 0) bonds[port.bond].push_back(&port);
  }
  for (const auto& [number, members] : bonds) {
    const std::string name = fmt::format("bond{}", number);
    commands.set({"interface", name, "bond", "member", nvue_render::port_names(members)});
    commands.set({"interface", name, "bond", "mlag", "id", std::to_string(number)});
    commands.set({"interface", name, "bond", "lacp-bypass", "on"});  // a server boots before it bonds
    commands.set({"interface", name, "link", "mtu", std::to_string(plan.mtu)});
    commands.set({"interface", name, "description", members.front()->peer_name});
  }
}

void add_bridge_ports(Commands& commands, const SwitchPlan& plan, const SwitchVlan& vlan) {
  const std::string id = std::to_string(vlan.id);
  const auto host = [&](const SwitchPort& port) {
    return port.use == SwitchPort::Use::host && port.vlan == vlan.id && port.bond == 0;
  };
  std::vector<int> bonds;
  for (const SwitchPort& port : plan.ports) {
    if (port.bond != 0 && port.vlan == vlan.id) bonds.push_back(static_cast<int>(port.bond));
  }
  std::sort(bonds.begin(), bonds.end());
  bonds.erase(std::unique(bonds.begin(), bonds.end()), bonds.end());
  const auto access = [&](const std::string& names) {
    if (names.empty()) return;
    const std::string place = fmt::format("interface {} bridge domain {}", names, kBridge);
    commands.set_at(place, {"access", id});
    commands.set_at(place, {"stp", "admin-edge", "on"});
    commands.set_at(place, {"stp", "bpdu-guard", "on"});
  };
  access(names_where(plan, host));
  std::string bundles;
  for (const int bond : bonds) bundles += fmt::format("{}bond{}", bundles.empty() ? "" : ",", bond);
  access(bundles);
  const std::string trunks = names_where(
      plan, [&](const SwitchPort& port) { return port.use == SwitchPort::Use::trunk && port.vlan == vlan.id; });
  if (!trunks.empty()) commands.set({"interface", trunks, "bridge", "domain", kBridge, "vlan", id});
  if (plan.has_pair()) commands.set({"interface", "peerlink", "bridge", "domain", kBridge, "vlan", id});
}

void add_gateway(Commands& commands, const SwitchPlan& plan, const SwitchVlan& vlan) {
  const std::string name = fmt::format("vlan{}", vlan.id);
  commands.set({"interface", name, "ip", "vrf", plan.kernel_vrf()});
  commands.set({"interface", name, "link", "mtu", std::to_string(plan.mtu)});
  const std::string place = fmt::format("interface {} ip", name);
  for (const SwitchGateway& gateway : vlan.gateways) {
    const auto set = [&](std::string_view at, Ipv4 address) {
      commands.set_at(at, {"address", fmt::format("{}/{}", to_text(address), gateway.prefix.length)});
      if (gateway.ipv6.length == 0) return;
      const Ipv6 embedded = embed_address(gateway.ipv6, address);
      commands.set_at(at, {"address", fmt::format("{}/{}", to_text(embedded), gateway.ipv6.length)});
    };
    for (const Ipv4 address : gateway.addresses()) set(place, address);
    if (!gateway.shared) continue;
    commands.set_at(place, {"vrr", "enable", "on"});
    commands.set_at(place, {"vrr", "mac-address", "00:00:5e:00:01:01"});  // RFC 5798, group 1
    commands.set_at(place, {"vrr", "state", "up"});
    set(place + " vrr", gateway.address);
  }
}

void add_vlans(Commands& commands, const SwitchPlan& plan) {
  if (plan.routes()) commands.set({"vrf", plan.kernel_vrf()});
  if (plan.vlans.empty()) return;
  commands.comment("VLANs and their gateways");
  for (const SwitchVlan& vlan : plan.vlans) {
    commands.set({"bridge", "domain", kBridge, "vlan", std::to_string(vlan.id)});
    add_bridge_ports(commands, plan, vlan);
    const std::string name = fmt::format("vlan{}", vlan.id);
    if (plan.oob()) {
      commands.set({"interface", name, "ip", "address",
                    fmt::format("{}/{}", to_text(plan.management), plan.management_subnet.length)});
    } else if (!vlan.gateways.empty()) {
      add_gateway(commands, plan, vlan);
    }
  }
  // Out-of-band leaves connect to two switches: the spanning tree breaks the loop; its root is above them.
  const int above = plan.spanning_tree_priority();
  if (plan.oob() || above != 0) {
    const int priority = above != 0 ? above : kDefaultBridgePriority;
    commands.set({"bridge", "domain", kBridge, "stp", "priority", std::to_string(priority)});
  }
}

void add_management(Commands& commands, const model::Cluster& cluster, const SwitchPlan& plan) {
  commands.comment("Management");
  const bool port = !plan.oob() && plan.management != Ipv4{};
  const std::string_view vrf = port ? "mgmt" : "default";
  if (port) {
    commands.set({"interface", "eth0", "ip", "vrf", "mgmt"});
    commands.set({"interface", "eth0", "ip", "address",
                  fmt::format("{}/{}", to_text(plan.management), plan.management_subnet.length)});
    if (cluster.spec().fabrics->oob->gateway.value != model::Whereabouts::none) {
      commands.set({"interface", "eth0", "ip", "gateway", to_text(plan.management_gateway)});
    }
  }
  const SwitchServices services = switch_services(cluster);
  if (is_host_text(services.syslog)) {
    commands.set({"service", "syslog", vrf, "server", services.syslog, "port", "514"});
  }
  if (services.time != Ipv4{}) commands.set({"service", "ntp", vrf, "server", to_text(services.time)});
  if (services.dns != Ipv4{}) commands.set({"service", "dns", vrf, "server", to_text(services.dns)});
}

RenderedFile nvue_file(const RenderInput& input, const SwitchPlan& plan) {
  Commands commands;
  const std::string top = heading(input.cluster, fmt::format("{} (Cumulus Linux 5, NVUE commands)", plan.name));
  for (std::string_view rest = top; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    commands.comment(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  commands.set({"system", "hostname", plan.name});
  add_breakouts(commands, plan);
  if (!plan.ports.empty()) add_links(commands, plan);
  add_pair(commands, plan);
  add_vlans(commands, plan);
  nvue_render::add_routing(commands, plan);
  nvue_render::add_access_lists(commands, input.plan, plan);
  nvue_render::add_qos(commands, input.cluster, plan);
  add_management(commands, input.cluster, plan);
  return RenderedFile{.path = fmt::format("nvue/{}/commands.nv", plan.name),
                      .content = commands.text(),
                      .device = plan.name,
                      .consumer = "Cumulus Linux (NVUE)",
                      .install = "/etc/weft/commands.nv",
                      .apply = "bash -e /etc/weft/commands.nv && nv config apply -y && nv config save",
                      .risk = Risk::traffic,
                      .stage = stage_of(plan.group->fabric),
                      .sources = {fabric_source(plan.group->fabric), "fabrics.oob"}};
}

void note_load_balancing(const model::DeviceGroup& group, const model::FabricSpec* fabric, FileSink& sink) {
  if (fabric == nullptr || fabric->load_balancing.value == model::LoadBalancing::ecmp) return;
  if (nvue_render::has_adaptive_routing(*group.network_switch, fabric->load_balancing.value)) return;
  sink.left_out(
      fmt::format("{}: `load_balancing: {}` is not configured: Cumulus Linux supports adaptive routing, on "
                  "Spectrum-4 only",
                  group.name, model::text_of(fabric->load_balancing.value)));
}

}  // namespace

bool applies_nvue(const RenderInput& input) { return has_ethernet_switch_of(input.cluster, kCumulus); }

void render_nvue(const RenderInput& input, FileSink& sink) {
  const SwitchPlanner planner(input.plan);
  bool stretched = false;
  for (const model::DeviceGroup& group : input.cluster.groups()) {
    if (!is_ethernet_switch_of(input.cluster, group, kCumulus)) continue;
    note_load_balancing(group, switch_fabric(input.cluster, group.fabric), sink);
    for (std::uint32_t n = 0; n < group.count; ++n) {
      const SwitchPlan plan = planner.plan(static_cast<model::DeviceId>(model::index_of(group.first) + n));
      stretched = stretched || plan.is_stretched();
      sink.add(nvue_file(input, plan));
    }
  }
  if (stretched) {
    sink.note(
        "The frontend subnet spans several pairs of Cumulus leaves, each of which announces its own hosts: enable "
        "proxy ARP on the VLAN interface of each (net.ipv4.conf.vlanN.proxy_arp_pvlan = 1).");
  }
}

}  // namespace weft::render
