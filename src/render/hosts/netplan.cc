// Addresses and routes of one server. Only the frontend has a default route. Every rail has its own routing table,
// selected by source address, so that replies leave through the port on which the request arrived.
#include <fmt/format.h>

#include <algorithm>

#include "render/hosts/parts.h"

namespace weft::render {
namespace {

constexpr int kBackendTables = 1000;  // be1: 1001
constexpr int kStorageTables = 1100;
constexpr std::int64_t kRailMetric = 100;
// IP over InfiniBand in datagram mode: a link MTU of 4096 less the 4 bytes of its header (RFC 4391, section 4).
constexpr std::int64_t kIpoibHeader = 4;
constexpr std::int64_t kIpoibMost = 4092;

std::int64_t mtu_of(const model::Cluster& cluster, const model::Port& port) {
  if (port.fabric == model::FabricKind::oob) return cluster.spec().fabrics->oob->mtu.value;
  const std::int64_t mtu = cluster.data_fabric_spec(port.fabric).mtu.value;
  if (!host_fabric_is_infiniband(cluster, port.fabric)) return mtu;
  return std::min(mtu - kIpoibHeader, kIpoibMost);
}

Value base_of(const model::Cluster& cluster, const model::Port& port) {
  Value out = Value::map({{"accept-ra", false}, {"mtu", mtu_of(cluster, port)}});
  if (host_fabric_is_infiniband(cluster, port.fabric)) out.set("infiniband-mode", "datagram");
  return out;
}

Value addresses_of(const model::Cluster& cluster, model::PortId id) {
  const model::Port& port = cluster.port(id);
  const model::Subnet& subnet = cluster.subnet(port.subnet);
  Value list = Value::list({fmt::format("{}/{}", to_text(port.address), subnet.prefix.length)});
  if (subnet.ipv6.length > 0) list.add(fmt::format("{}/{}", to_text(cluster.ipv6_of(id)), subnet.ipv6.length));
  return list;
}

// The prefix of a whole rail, which contains the rail's subnets in other units.
Ipv4Prefix rail_prefix(const model::Cluster& cluster, const model::Port& port, const model::Subnet& subnet) {
  for (const Ipv4Prefix& prefix : cluster.data_fabric_spec(port.fabric).subnets.value) {
    if (prefix.contains(subnet.prefix)) return prefix;
  }
  return subnet.prefix;
}

// `ordinal` numbers the server's ports on the fabric from 1.
Value rail(const model::Cluster& cluster, model::PortId id, int ordinal) {
  const model::Port& port = cluster.port(id);
  Value out = base_of(cluster, port);
  // RoCE GIDs follow the addresses: EUI-64 link-local addresses keep the IPv4 entry at its index in the table.
  if (!host_fabric_is_infiniband(cluster, port.fabric)) out.set("ipv6-address-generation", "eui64");
  out.set("optional", true);  // a rail that is down does not delay the boot
  out.set("ignore-carrier", true);
  if (port.address == Ipv4{} || port.subnet == model::kNone<model::SubnetId>) return out;
  const model::Subnet& subnet = cluster.subnet(port.subnet);
  const int table = (port.fabric == model::FabricKind::backend ? kBackendTables : kStorageTables) + ordinal;
  out.set("addresses", addresses_of(cluster, id));
  Value routes = Value::list();
  const Ipv4Prefix whole = rail_prefix(cluster, port, subnet);
  const std::string own = to_text(subnet.prefix);
  routes.add(Value::map({{"to", own}, {"scope", "link"}, {"from", to_text(port.address)}, {"table", table}}));
  if (subnet.gateway != Ipv4{} && whole != subnet.prefix) {
    const std::string via = to_text(subnet.gateway);
    routes.add(Value::map({{"to", to_text(whole)}, {"via", via}, {"metric", kRailMetric + ordinal}}));
    routes.add(Value::map({{"to", to_text(whole)}, {"via", via}, {"table", table}}));
  }
  out.set("routes", std::move(routes));
  out.set("routing-policy",
          Value::list({Value::map({{"from", to_text(port.address)}, {"table", table}, {"priority", table}})}));
  return out;
}

void set_uplink(const model::Cluster& cluster, model::PortId id, Value& out) {
  const model::Port& port = cluster.port(id);
  if (port.address == Ipv4{} || port.subnet == model::kNone<model::SubnetId>) return;
  const model::Subnet& subnet = cluster.subnet(port.subnet);
  out.set("addresses", addresses_of(cluster, id));
  const bool leaves = port.fabric == model::FabricKind::frontend
                          ? cluster.data_fabric_spec(port.fabric).default_route.value
                          : cluster.spec().fabrics->oob->gateway.value != model::Whereabouts::none;
  if (leaves && subnet.gateway != Ipv4{}) {
    out.set("routes", Value::list({Value::map({{"to", "default"}, {"via", to_text(subnet.gateway)}})}));
  }
  out.set("nameservers", Value::map({{"search", Value::list({cluster.spec().site->domain.value})}}));
}

Value bond(const model::Cluster& cluster, const std::vector<model::PortId>& links) {
  Value members = Value::list();
  Value out = base_of(cluster, cluster.port(links.front()));
  for (const model::PortId id : links) members.add(cluster.port_name(id));
  out.set("interfaces", std::move(members));
  out.set("parameters", Value::map({{"mode", "802.3ad"},
                                    {"lacp-rate", "fast"},
                                    {"mii-monitor-interval", 100},
                                    {"min-links", 1},
                                    {"transmit-hash-policy", "layer3+4"}}));
  for (const model::PortId id : links) {
    if (cluster.port(id).address != Ipv4{}) {
      set_uplink(cluster, id, out);
      break;
    }
  }
  return out;
}

Value netplan_of(const RenderInput& input, const PoolPlan& pool, model::DeviceId server) {
  const model::Cluster& cluster = input.cluster;
  Value ethernets = Value::map();
  std::vector<model::PortId> bonded;
  const std::string frontend = input.plan.frontend_interface(pool);
  int ordinals[model::kFabrics] = {};
  for (const model::PortId id : cluster.ports_of(server)) {
    const model::Port& port = cluster.port(id);
    if (!host_is_system_port(port)) continue;
    const int ordinal = ++ordinals[static_cast<std::size_t>(port.fabric)];
    if (port.fabric == model::FabricKind::backend || port.fabric == model::FabricKind::storage) {
      ethernets.put(cluster.port_name(id), rail(cluster, id, ordinal));
      continue;
    }
    Value out = base_of(cluster, port);
    if (port.fabric == model::FabricKind::frontend && frontend == "bond-fe") {
      bonded.push_back(id);
    } else {
      set_uplink(cluster, id, out);
    }
    ethernets.put(cluster.port_name(id), std::move(out));
  }
  Value network = Value::map({{"version", 2}, {"renderer", "networkd"}});
  if (!ethernets.empty()) network.set("ethernets", std::move(ethernets));
  if (!bonded.empty()) network.set("bonds", Value::map({{frontend, bond(cluster, bonded)}}));
  return Value::map({{"network", std::move(network)}});
}

}  // namespace

void add_netplan(const RenderInput& input, const PoolPlan& pool, model::DeviceId server, FileSink& sink) {
  const std::string& name = input.cluster.name_of(server);
  const Value document = netplan_of(input, pool, server);
  sink.add(
      {.path = fmt::format("host/{}/{}/netplan/60-weft.yaml", pool.name(), name),
       .content = write_yaml(std::span(&document, 1), heading(input.cluster, "Addresses and routes of " + name + ".")),
       .device = name,
       .consumer = "netplan",
       .install = "/etc/netplan/60-weft.yaml",
       .apply = "netplan apply",
       .mode = "0600",
       .risk = Risk::traffic,
       .stage = Stage::hosts,
       .sources = {"fabrics", "pools." + pool.name()}});
}

}  // namespace weft::render
