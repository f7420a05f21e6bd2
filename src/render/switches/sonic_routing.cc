// SONiC: routed interfaces, BGP between the switches of a fabric, hashing. The tables are those of the management
// framework, which frrcfgd turns into FRR's configuration.
#include <fmt/format.h>

#include "render/switches/sonic_tables.h"

namespace weft::render::sonic_render {
namespace {

constexpr std::string_view kFabricGroup = "fabric";
constexpr std::string_view kNodesGroup = "nodes";
constexpr std::string_view kAll = "ALL";  // route maps
constexpr std::string_view kNothing = "NOTHING";
constexpr std::string_view kServices = "SERVICES";  // and the prefixes it permits
constexpr int kMaxPaths = 128;                      // equal-cost paths: more than any switch here has uplinks

std::vector<std::string_view> families(const Tables& tables) {
  if (tables.plan.has_ipv6()) return {"ipv4_unicast", "ipv6_unicast"};
  return {"ipv4_unicast"};
}

std::string in_vrf(const Tables& tables, std::string_view rest) { return fmt::format("{}|{}", tables.vrf, rest); }

// FRR exchanges no routes with external peers without an explicit policy (RFC 8212).
void add_route_map(Tables& tables, std::string_view name, bool permit, std::string_view prefixes = {}) {
  tables.root["ROUTE_MAP_SET"].put(std::string(name), Value::map());
  Value row = Value::map();
  row.put("route_operation", permit ? "permit" : "deny");
  if (!prefixes.empty()) row.put("match_prefix_set", prefixes);
  tables.root["ROUTE_MAP"].put(fmt::format("{}|10", name), std::move(row));
}

void add_group(Tables& tables, std::string_view name, Value fields, std::string_view in, std::string_view out) {
  tables.root["BGP_PEER_GROUP"].put(in_vrf(tables, name), std::move(fields));
  for (const std::string_view family : families(tables)) {
    Value row = Value::map();
    row.put("admin_status", "up");
    row.put("route_map_in", Value::list({in}));
    row.put("route_map_out", Value::list({out}));
    tables.root["BGP_PEER_GROUP_AF"].put(fmt::format("{}|{}|{}", tables.vrf, name, family), std::move(row));
  }
}

void add_process(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  Value global = Value::map();
  global.put("local_asn", text(plan.device->asn));
  global.put("router_id", to_text(plan.device->loopback));
  // Paths over spines with different AS numbers count as equal (RFC 7938, 5.2.5.3).
  global.put("load_balance_mp_relax", "true");
  global.put("log_nbr_state_changes", "true");
  global.put("graceful_restart_enable", "true");
  tables.root["BGP_GLOBALS"].put(tables.vrf, std::move(global));
  for (const std::string_view family : families(tables)) {
    Value paths = Value::map();
    paths.put("max_ebgp_paths", text(kMaxPaths));
    tables.root["BGP_GLOBALS_AF"].put(in_vrf(tables, family), std::move(paths));
    const std::string_view version = family.substr(0, 4);
    tables.root["ROUTE_REDISTRIBUTE"].put(fmt::format("{}|connected|bgp|{}", tables.vrf, version), Value::map());
    if (!plan.is_stretched() || version != "ipv4") continue;
    tables.root["ROUTE_REDISTRIBUTE"].put(fmt::format("{}|static|bgp|{}", tables.vrf, version), Value::map());
  }
}

Value neighbor_row(const Tables& tables, const SwitchPort& port) {
  Value row = Value::map();
  if (port.use == SwitchPort::Use::external) {
    row.put("peer_type", "external");
  } else {
    row.put("asn", text(port.peer_asn));
  }
  row.put("peer_group_name", kFabricGroup);
  row.put("name", port.peer_name);
  row.put("bfd", tables.plan.fabric->bfd.value ? "true" : "false");
  if (!port.is_numbered()) row.put("capability_ext_nexthop", "true");  // RFC 8950: IPv4 routes over IPv6 next hops
  row.put("admin_status", "up");
  return row;
}

// Kubernetes nodes announce service addresses to the first frontend leaves.
void add_nodes(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (plan.nodes.asn == 0) return;
  Value fields = Value::map();
  fields.put("asn", text(plan.nodes.asn));
  fields.put("passive_mode", "true");
  if (plan.fabric->bfd.value) fields.put("bfd", "true");
  // Nodes may announce only service addresses, as /32; nothing is announced to them.
  Value set = Value::map();
  set.put("mode", "IPv4");
  tables.root["PREFIX_SET"].put(std::string(kServices), std::move(set));
  Value permit = Value::map();
  permit.put("action", "permit");
  tables.root["PREFIX"].put(fmt::format("{}|10|{}|32..32", kServices, to_text(plan.nodes.services)), std::move(permit));
  add_route_map(tables, kServices, true, kServices);
  add_route_map(tables, kNothing, false);
  add_group(tables, kNodesGroup, std::move(fields), kServices, kNothing);
  Value listen = Value::map();
  listen.put("peer_group", kNodesGroup);
  tables.root["BGP_GLOBALS_LISTEN_PREFIX"].put(in_vrf(tables, to_text(plan.nodes.hosts)), std::move(listen));
}

// One subnet over several pairs: each pair announces its own hosts, and answers ARP for those of the others
// (proxy_arp).
void add_host_routes(Tables& tables) {
  for (const SwitchVlan& vlan : tables.plan.vlans) {
    for (const SwitchGateway& gateway : vlan.gateways) {
      for (const Ipv4 host : gateway.hosts) {
        Value row = Value::map();
        row.put("nexthop", "0.0.0.0");
        row.put("ifname", fmt::format("Vlan{}", vlan.id));
        tables.root["STATIC_ROUTE"].put(in_vrf(tables, to_text(host) + "/32"), std::move(row));
      }
    }
  }
}

}  // namespace

void add_interfaces(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (!plan.routes()) return;
  tables.root["VRF"].put(tables.vrf, Value::map());
  Value interfaces = Value::map();
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const SwitchPort& port = plan.ports[i];
    if (!port.is_routed()) continue;
    Value row = Value::map();
    row.put("vrf_name", tables.vrf);
    if (!port.is_numbered()) row.put("ipv6_use_link_local_only", "enable");
    interfaces.put(tables.names[i], std::move(row));
    if (port.is_numbered())
      interfaces.put(fmt::format("{}|{}/31", tables.names[i], to_text(port.address)), Value::map());
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
    if (!port.is_routed()) continue;
    const std::string peer = port.is_numbered() ? to_text(port.peer_address) : tables.names[i];
    neighbors.put(in_vrf(tables, peer), neighbor_row(tables, port));
  }
  if (!neighbors.empty()) {
    Value fields = Value::map();
    // When the last cable to a switch goes down, its routes are withdrawn at once.
    fields.put("keepalive", "3");
    fields.put("holdtime", "9");
    add_route_map(tables, kAll, true);
    add_group(tables, kFabricGroup, std::move(fields), kAll, kAll);
    tables.root.put("BGP_NEIGHBOR", std::move(neighbors));
  }
  add_nodes(tables);
  add_host_routes(tables);
}

// The fields that distinguish RoCE v2 flows: a queue pair keeps its UDP source port. Seeds: see role_of().
void add_hashing(Tables& tables) {
  if (!tables.plan.routes()) return;
  const Value fields = Value::list({"SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"});
  Value global = Value::map();
  global.put("ecmp_hash", fields);
  global.put("lag_hash", fields);
  tables.root["SWITCH_HASH"].put("GLOBAL", std::move(global));
}

}  // namespace weft::render::sonic_render
