// SONiC: routed interfaces, BGP between the switches of a fabric, hashing. The tables are those of the management
// framework, which frrcfgd turns into FRR's configuration.
#include <fmt/format.h>

#include <algorithm>

#include "render/sonic_tables.h"

namespace weft::sonic_render {
namespace {

constexpr std::string_view kFabricGroup = "fabric";
constexpr std::string_view kNodesGroup = "nodes";
constexpr int kMostPaths = 128;  // equal-cost paths: more than any switch here has uplinks

bool numbered(const SwitchPort& port) { return port.address != Ipv4{} && port.peer_address != Ipv4{}; }

bool dual_stack(const Tables& tables) {
  return tables.plan.fabric->ipv6.has_value() && tables.plan.fabric->ipv6->length > 0;
}

std::vector<std::string_view> families(const Tables& tables) {
  if (dual_stack(tables)) return {"ipv4_unicast", "ipv6_unicast"};
  return {"ipv4_unicast"};
}

std::string in_vrf(const Tables& tables, std::string_view rest) { return fmt::format("{}|{}", tables.vrf, rest); }

void add_group(Tables& tables, std::string_view name, Value fields) {
  tables.root["BGP_PEER_GROUP"].put(in_vrf(tables, name), std::move(fields));
  for (const std::string_view family : families(tables)) {
    Value row = Value::map();
    row.put("admin_status", "true");
    tables.root["BGP_PEER_GROUP_AF"].put(fmt::format("{}|{}|{}", tables.vrf, name, family), std::move(row));
  }
}

void add_process(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  Value global = Value::map();
  global.put("local_asn", text(plan.device->asn));
  global.put("router_id", to_text(plan.device->loopback));
  // Paths over spines with different numbers count as equal (RFC 7938, 5.2.5.3).
  global.put("load_balance_mp_relax", "true");
  global.put("log_nbr_state_changes", "true");
  global.put("graceful_restart_enable", "true");
  tables.root["BGP_GLOBALS"].put(tables.vrf, std::move(global));
  for (const std::string_view family : families(tables)) {
    Value paths = Value::map();
    paths.put("max_ebgp_paths", text(kMostPaths));
    tables.root["BGP_GLOBALS_AF"].put(in_vrf(tables, family), std::move(paths));
    const std::string_view version = family.substr(0, 4);
    tables.root["ROUTE_REDISTRIBUTE"].put(fmt::format("{}|connected|bgp|{}", tables.vrf, version), Value::map());
  }
}

Value neighbor_row(const Tables& tables, const SwitchPort& port) {
  Value row = Value::map();
  if (port.external()) {
    row.put("peer_type", "external");
  } else {
    row.put("asn", text(port.peer_asn));
  }
  row.put("peer_group_name", kFabricGroup);
  row.put("name", tables.cluster().name_of(port.peer));
  row.put("bfd", tables.plan.fabric->bfd.value ? "true" : "false");
  if (!numbered(port)) row.put("capability_ext_nexthop", "true");  // RFC 8950: IPv4 routes over IPv6 next hops
  row.put("admin_status", "true");
  return row;
}

// Kubernetes nodes announce service addresses to the first frontend leaves.
void add_nodes(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (!tables.input.plan.has_kubernetes()) return;
  const auto& peers = tables.input.plan.frontend_peers();
  const bool peer = std::any_of(peers.begin(), peers.end(), [&](const auto& one) { return one.leaf == plan.id; });
  const ControlPlaneSpec& control = tables.cluster().spec().control_plane.value;
  if (!peer || plan.vlans.empty() || plan.vlans.front().subnets.empty() || !control.asn.has_value()) return;
  Value fields = Value::map();
  fields.put("asn", text(control.asn.value));
  fields.put("passive_mode", "true");
  if (plan.fabric->bfd.value) fields.put("bfd", "true");
  add_group(tables, kNodesGroup, std::move(fields));
  const Subnet& subnet = tables.cluster().subnet(plan.vlans.front().subnets.front());
  Value listen = Value::map();
  listen.put("peer_group", kNodesGroup);
  tables.root["BGP_GLOBALS_LISTEN_PREFIX"].put(in_vrf(tables, to_text(subnet.prefix)), std::move(listen));
}

}  // namespace

void add_interfaces(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (!plan.routes()) return;
  tables.root["VRF"].put(tables.vrf, Value::map());
  Value interfaces = Value::map();
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const SwitchPort& port = plan.ports[i];
    if (port.use != SwitchPort::Use::routed) continue;
    Value row = Value::map();
    row.put("vrf_name", tables.vrf);
    if (!numbered(port)) row.put("ipv6_use_link_local_only", "enable");
    interfaces.put(tables.names[i], std::move(row));
    if (numbered(port)) interfaces.put(fmt::format("{}|{}/31", tables.names[i], to_text(port.address)), Value::map());
  }
  if (!interfaces.empty()) tables.root.put("INTERFACE", std::move(interfaces));
  Value loopback = Value::map();
  loopback.put("vrf_name", tables.vrf);
  tables.root["LOOPBACK_INTERFACE"].put("Loopback0", std::move(loopback));
  tables.root["LOOPBACK_INTERFACE"].put(fmt::format("Loopback0|{}/32", to_text(plan.device->loopback)), Value::map());
}

void add_bgp(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (!plan.routes() || plan.device->asn == 0) return;
  add_process(tables);
  Value neighbors = Value::map();
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const SwitchPort& port = plan.ports[i];
    if (port.use != SwitchPort::Use::routed) continue;
    const std::string peer = numbered(port) ? to_text(port.peer_address) : tables.names[i];
    neighbors.put(in_vrf(tables, peer), neighbor_row(tables, port));
  }
  if (!neighbors.empty()) {
    Value fields = Value::map();
    // The last cable to a switch that goes down takes its routes along at once.
    fields.put("keepalive", "3");
    fields.put("holdtime", "9");
    add_group(tables, kFabricGroup, std::move(fields));
    tables.root.put("BGP_NEIGHBOR", std::move(neighbors));
  }
  add_nodes(tables);
}

// The fields that tell flows of RoCE v2 apart: a queue pair keeps its UDP source port. Seeds: see role_of().
void add_hashing(Tables& tables) {
  if (!tables.plan.routes()) return;
  const Value fields = Value::list({"SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"});
  Value global = Value::map();
  global.put("ecmp_hash", fields);
  global.put("lag_hash", fields);
  tables.root["SWITCH_HASH"].put("GLOBAL", std::move(global));
}

}  // namespace weft::sonic_render
