// SONiC: VLANs with their gateways, the spanning tree and access lists of the out-of-band network.
#include <fmt/format.h>

#include <algorithm>

#include "render/switches/sonic_tables.h"

namespace weft::render::sonic_render {
namespace {

constexpr std::string_view kJumpOnly = "JUMP_ONLY";
constexpr std::string_view kOwnAccess = "SSH_ONLY";
constexpr int kFirstPriority = 9990;  // of rules: highest first
constexpr int kDefaultBridgePriority = 32768;
constexpr int kUdp = 17;
constexpr int kSshPort = 22;
constexpr int kTcp = 6;

std::string vlan_name(int id) { return fmt::format("Vlan{}", id); }

std::string with_length(Ipv4 address, const Ipv4Prefix& prefix) {
  return fmt::format("{}/{}", to_text(address), prefix.length);
}

Value member(bool tagged) {
  Value row = Value::map();
  row.put("tagging_mode", tagged ? "tagged" : "untagged");
  return row;
}

// A VLAN's ports; bundled ports are members through their port channel.
void add_members(const Tables& tables, const SwitchVlan& vlan, Value& members) {
  const SwitchPlan& plan = tables.plan;
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const SwitchPort& port = plan.ports[i];
    const std::string bundle = bundle_name(port);
    const bool pair_link = port.use == SwitchPort::Use::pair_link;
    if (port.vlan != vlan.id && !pair_link) continue;
    const std::string& name = bundle.empty() ? tables.names[i] : bundle;
    if (!bundle.empty() && std::find(seen.begin(), seen.end(), bundle) != seen.end()) continue;
    if (!bundle.empty()) seen.push_back(bundle);
    const bool tagged = pair_link || port.use == SwitchPort::Use::trunk;
    members.put(fmt::format("{}|{}", vlan_name(vlan.id), name), member(tagged));
  }
}

void add_addresses(const SwitchVlan& vlan, Value& interfaces) {
  const std::string name = vlan_name(vlan.id);
  const auto put = [&](const std::string& address, bool secondary) {
    Value row = Value::map();
    if (secondary) row.put("secondary", "true");
    interfaces.put(fmt::format("{}|{}", name, address), std::move(row));
  };
  bool secondary = false;
  for (const SwitchGateway& gateway : vlan.gateways) {
    put(with_length(gateway.address, gateway.prefix), secondary);
    secondary = true;
    if (gateway.own != Ipv4{}) put(with_length(gateway.own, gateway.prefix), true);
    if (gateway.ipv6.length == 0) continue;
    put(fmt::format("{}/{}", to_text(embed_address(gateway.ipv6, gateway.address)), gateway.ipv6.length), false);
  }
}

// Ports of managed devices; the jump hosts' own ports are not restricted.
Value managed_ports(const Tables& tables) {
  const std::vector<model::DeviceId>& hosts = tables.input.plan.jump_hosts();
  const model::Cluster& cluster = tables.cluster();
  Value ports = Value::list();
  for (std::size_t i = 0; i < tables.plan.ports.size(); ++i) {
    const SwitchPort& port = tables.plan.ports[i];
    if (port.use != SwitchPort::Use::host) continue;
    const bool jump = std::find(hosts.begin(), hosts.end(), port.peer) != hosts.end();
    if (!jump || cluster.port(cluster.peer_of(port.id)).rail == 0) ports.add(tables.names[i]);
  }
  return ports;
}

Value rule(int priority, bool permit, std::string_view source, std::string_view destination) {
  Value row = Value::map();
  row.put("PRIORITY", text(priority));
  row.put("PACKET_ACTION", permit ? "FORWARD" : "DROP");
  row.put("SRC_IP", source);
  row.put("DST_IP", destination);
  return row;
}

// The rules of one list, numbered as they are added.
class Rules {
 public:
  explicit Rules(std::string_view list) : list_(list) {}
  void add(std::string_view source, std::string_view destination, int protocol = 0, int port = 0) {
    Value row = rule(kFirstPriority - number_, true, source, destination);
    if (protocol != 0) row.put("IP_PROTOCOL", text(protocol));
    if (port != 0) row.put("L4_DST_PORT", text(port));
    rows_.put(fmt::format("{}|RULE_{:04}", list_, ++number_ * 10), std::move(row));
  }
  // Everything else is dropped, except ARP.
  Value finish() && {
    Value last = Value::map();
    last.put("PRIORITY", "1");
    last.put("PACKET_ACTION", "DROP");
    last.put("ETHER_TYPE", "2048");
    rows_.put(fmt::format("{}|DEFAULT", list_), std::move(last));
    return std::move(rows_);
  }

 private:
  std::string list_;
  int number_ = 0;
  Value rows_ = Value::map();
};

void add_jump_rules(Tables& tables) {
  Rules rules(kJumpOnly);
  for (const GuardRule& one : guard_rules(tables.input.plan, tables.plan)) {
    if (one.to_managed) continue;
    const int protocol = one.protocol == GuardRule::Protocol::udp   ? kUdp
                         : one.protocol == GuardRule::Protocol::tcp ? kTcp
                                                                    : 0;
    rules.add(to_text(one.source), to_text(one.destination), protocol, one.destination_port);
  }
  Value made = std::move(rules).finish();
  for (const Value::Entry& entry : made.entries()) tables.root["ACL_RULE"].put(entry.key, entry.value);
}

// Who may log in on the switch itself, which has its address on the same VLAN (caclmgrd).
void add_own_access(Tables& tables) {
  const std::vector<Ipv4> jumps = jump_addresses(tables.input.plan);
  if (jumps.empty()) return;
  Value table = Value::map();
  table.put("type", "CTRLPLANE");
  table.put("stage", "ingress");
  table.put("policy_desc", "jump hosts log in");
  table.put("services", Value::list({"SSH"}));
  tables.root["ACL_TABLE"].put(std::string(kOwnAccess), std::move(table));
  int number = 0;
  for (const Ipv4 jump : jumps) {
    Value row = Value::map();
    row.put("PRIORITY", text(kFirstPriority - number));
    row.put("PACKET_ACTION", "ACCEPT");
    row.put("SRC_IP", to_text(jump) + "/32");
    row.put("IP_PROTOCOL", text(kTcp));
    row.put("L4_DST_PORT", text(kSshPort));
    tables.root["ACL_RULE"].put(fmt::format("{}|RULE_{:04}", kOwnAccess, ++number * 10), std::move(row));
  }
  Value last = Value::map();
  last.put("PRIORITY", "1");
  last.put("PACKET_ACTION", "DROP");
  last.put("ETHER_TYPE", "2048");
  tables.root["ACL_RULE"].put(fmt::format("{}|DEFAULT", kOwnAccess), std::move(last));
}

}  // namespace

Ipv4 pair_address(bool first) { return Ipv4{(169U << 24U) | (254U << 16U) | (255U << 8U) | (first ? 1U : 2U)}; }

void add_vlans(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (plan.vlans.empty() && !plan.has_pair()) return;
  Value vlans = Value::map();
  Value members = Value::map();
  Value interfaces = Value::map();
  for (const SwitchVlan& vlan : plan.vlans) {
    Value row = Value::map();
    row.put("vlanid", text(vlan.id));
    row.put("description", vlan.description);
    vlans.put(vlan_name(vlan.id), std::move(row));
    add_members(tables, vlan, members);
    if (plan.oob()) {  // address of the out-of-band switch itself; nothing is routed
      interfaces.put(vlan_name(vlan.id), Value::map());
      interfaces.put(fmt::format("{}|{}", vlan_name(vlan.id), with_length(plan.management, plan.management_subnet)),
                     Value::map());
    } else if (!vlan.gateways.empty()) {
      Value svi = Value::map();
      svi.put("vrf_name", tables.vrf);
      if (vlan.is_stretched()) svi.put("proxy_arp", "enabled");
      interfaces.put(vlan_name(vlan.id), std::move(svi));
      add_addresses(vlan, interfaces);
    }
  }
  if (plan.has_pair()) {
    Value row = Value::map();
    row.put("vlanid", text(kPeerVlan));
    row.put("description", "between the switches of the pair");
    vlans.put(vlan_name(kPeerVlan), std::move(row));
    SwitchVlan peers;
    peers.id = static_cast<std::uint16_t>(kPeerVlan);
    add_members(tables, peers, members);
    interfaces.put(vlan_name(kPeerVlan), Value::map());
    interfaces.put(fmt::format("{}|{}/30", vlan_name(kPeerVlan), to_text(pair_address(plan.side == 0))), Value::map());
  }
  tables.root.put("VLAN", std::move(vlans));
  if (!members.empty()) tables.root.put("VLAN_MEMBER", std::move(members));
  if (!interfaces.empty()) tables.root.put("VLAN_INTERFACE", std::move(interfaces));
}

// Out-of-band leaves connect to two switches each: a loop, which the spanning tree breaks. Host ports are edge ports.
void add_spanning_tree(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  const auto vlan = static_cast<std::uint16_t>(tables.cluster().spec().fabrics->oob->vlan.value);
  const bool carries =
      std::any_of(plan.vlans.begin(), plan.vlans.end(), [&](const SwitchVlan& one) { return one.id == vlan; });
  if (!carries) return;
  const int above = plan.spanning_tree_priority();
  const int priority = above != 0 ? above : kDefaultBridgePriority;
  Value global = Value::map();
  global.put("mode", "pvst");
  global.put("priority", text(priority));
  tables.root["STP"].put("GLOBAL", std::move(global));
  Value row = Value::map();
  row.put("vlanid", text(vlan));
  row.put("enabled", "true");
  row.put("priority", text(priority));
  tables.root["STP_VLAN"].put(vlan_name(vlan), std::move(row));
  Value ports = Value::map();
  bool pair_done = false;
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const SwitchPort& port = plan.ports[i];
    const bool pair_link = port.use == SwitchPort::Use::pair_link;
    if (pair_link ? pair_done : port.vlan != vlan) continue;
    pair_done = pair_done || pair_link;
    const bool edge = port.use == SwitchPort::Use::host;
    Value one = Value::map();
    one.put("enabled", "true");
    one.put("portfast", edge ? "true" : "false");
    one.put("bpdu_guard", edge ? "true" : "false");
    ports.put(pair_link ? bundle_name(port) : tables.names[i], std::move(one));
  }
  tables.root.put("STP_PORT", std::move(ports));
}

// Only jump hosts talk to BMCs: managed ports may send to them and to the services; everything else is dropped.
void add_access_lists(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (!plan.oob() || !tables.cluster().spec().fabrics->oob->jump_only.value) return;
  Value ports = managed_ports(tables);
  if (!ports.empty()) {
    Value table = Value::map();
    table.put("type", "L3");
    table.put("stage", "ingress");
    table.put("policy_desc", "managed devices to jump hosts and required services");
    table.put("ports", std::move(ports));
    tables.root["ACL_TABLE"].put(std::string(kJumpOnly), std::move(table));
    add_jump_rules(tables);
  }
  add_own_access(tables);
}

}  // namespace weft::render::sonic_render
