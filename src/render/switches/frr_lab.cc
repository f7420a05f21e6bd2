// The lab for the FRR configuration: a table of connections, the script that builds the lab from network
// namespaces, and the same as a containerlab topology.
#include <fmt/format.h>

#include <algorithm>

#include "base/asset.h"
#include "base/value.h"
#include "render/switches/frr_plan.h"
#include "render/switches/switch_plan.h"

namespace weft::render::frr {
namespace {

constexpr std::string_view kSwitchImage = "quay.io/frrouting/frr:8.4.4";
constexpr std::string_view kHostImage = "docker.io/library/alpine:3.20";
// The gateway of a stretched subnet has one MAC address on all leaves; from IANA's range for virtual routers (RFC
// 5798).
constexpr std::string_view kAnycastMac = "00:00:5e:00:01:01";

constexpr std::int64_t kVxlanOverhead = 50;  // bytes, over IPv4 (RFC 7348, 5)

std::string_view or_dash(std::string_view text) { return text.empty() ? std::string_view("-") : text; }

std::int64_t switch_mtu(const FabricPart& fabric) {
  return fabric.spec->switch_mtu.has_value() ? fabric.spec->switch_mtu.value : fabric.spec->mtu.value;
}

// A VLAN's VNI; VLAN numbers are unique across the cluster, so the VLAN number is used.
std::string vni_of(const model::Cluster& cluster, const FabricPart& fabric, model::SubnetId subnet) {
  return fabric.evpn ? std::to_string(cluster.subnet(subnet).vlan) : std::string();
}

// One host port for the lab.
struct HostLine {
  std::string host;
  std::string interface;
  std::string address;  // with length; empty for further links of a bond
  std::string gateway;
  std::string address6;
  std::string gateway6;
  std::string reach;  // prefix reached through the gateway: the rail's whole subnet
  std::string leaf;
  std::string leaf_interface;
  std::string vlan;
  std::string bond;
};

HostLine host_line(const Underlay& underlay, const FabricPart& fabric, model::PortId id) {
  const model::Cluster& cluster = underlay.cluster();
  const model::Port& port = cluster.port(id);
  const model::Subnet& subnet = cluster.subnet(port.subnet);
  const model::PortId leaf = cluster.peer_of(id);
  HostLine line{.host = cluster.name_of(port.device),
                .interface = interface_name(cluster, id),
                .address = {},
                .gateway = to_text(subnet.gateway),
                .address6 = {},
                .gateway6 = {},
                .reach = {},
                .leaf = cluster.name_of(cluster.port(leaf).device),
                .leaf_interface = interface_name(cluster, leaf),
                .vlan = vlan_name(cluster, port.subnet),
                .bond = fabric.evpn ? "bond-fe" : ""};
  if (port.address != Ipv4{}) line.address = fmt::format("{}/{}", to_text(port.address), subnet.prefix.length);
  if (subnet.ipv6.length > 0 && port.address != Ipv4{}) {
    line.address6 = fmt::format("{}/{}", to_text(cluster.ipv6_of(id)), subnet.ipv6.length);
    line.gateway6 = to_text(embed_address(subnet.ipv6, subnet.gateway));
  }
  for (const Ipv4Prefix& prefix : underlay.reach(fabric)) {
    if (prefix.contains(subnet.prefix)) line.reach = to_text(prefix);
  }
  if (fabric.spec->default_route.value) line.reach = "default";
  return line;
}

class LabTable {
 public:
  explicit LabTable(const Underlay& underlay) : underlay_(underlay), cluster_(underlay.cluster()) {}

  [[nodiscard]] std::string write() {
    text_ = comment_heading(cluster_, "Input of lab.sh: switches, links, VLANs, hosts and routes", "#");
    for (const FabricPart& fabric : underlay_.fabrics()) {
      underlay_.each_switch(fabric, [&](model::DeviceId id) { add_switch(fabric, id); });
      for (const model::CableRole role : {model::CableRole::leaf_spine, model::CableRole::spine_core})
        add_links(fabric, role);
      for (const Ipv4Prefix& prefix : underlay_.reach(fabric))
        row({"route", model::to_text(fabric.kind), to_text(prefix)});
      if (!underlay_.allowed_ipv6(fabric).empty()) {
        row({"route", model::to_text(fabric.kind), to_text(fabric.spec->ipv6.value)});
      }
      underlay_.each_switch(fabric, [&](model::DeviceId id) { add_edge(fabric, id); });
    }
    return std::move(text_);
  }

 private:
  void row(std::initializer_list<std::string_view> cells) {
    bool first = true;
    for (const std::string_view cell : cells) {
      if (!first) text_ += '\t';
      first = false;
      text_ += or_dash(cell);
    }
    text_ += '\n';
  }

  void add_switch(const FabricPart& fabric, model::DeviceId id) {
    const model::Device& device = cluster_.device(id);
    const model::Tier tier = cluster_.group_of(id).tier;
    const std::string rail = tier == model::Tier::leaf ? std::to_string(device.rail + 1) : "-";
    row({"switch", model::to_text(fabric.kind), tier == model::Tier::leaf ? unit_name(cluster_, device.unit) : "-",
         rail, model::to_text(tier), cluster_.name_of(id), to_text(device.loopback)});
  }

  void add_links(const FabricPart& fabric, model::CableRole role) {
    const std::string mtu = std::to_string(switch_mtu(fabric) + (fabric.evpn ? kVxlanOverhead : 0));
    for (const model::Cable& cable : cluster_.cables()) {
      if (cable.fabric != fabric.kind || cable.role != role) continue;
      row({"link", model::to_text(fabric.kind), cluster_.name_of(cluster_.port(cable.a).device),
           interface_name(cluster_, cable.a), cluster_.name_of(cluster_.port(cable.b).device),
           interface_name(cluster_, cable.b), mtu});
    }
  }

  void add_edge(const FabricPart& fabric, model::DeviceId id) {
    const SwitchPart part = underlay_.switch_part(id);
    const std::string mtu = std::to_string(switch_mtu(fabric));
    std::vector<std::string> done;
    for (const Gateway& gateway : part.gateways) {
      const std::string vlan = vlan_name(cluster_, gateway.subnet);
      if (std::find(done.begin(), done.end(), vlan) != done.end()) continue;
      done.push_back(vlan);
      row({"vlan", model::to_text(fabric.kind), cluster_.name_of(id), vlan, vni_of(cluster_, fabric, gateway.subnet),
           mtu, to_text(cluster_.device(id).loopback)});
    }
    for (const model::PortId host : part.host_ports) {
      if (cluster_.port(host).subnet == model::kNone<model::SubnetId>) continue;
      const HostLine line = host_line(underlay_, fabric, host);
      row({"host", model::to_text(fabric.kind), line.host, line.interface, line.address, line.gateway, line.address6,
           line.gateway6, line.reach, line.leaf, line.leaf_interface, line.vlan, std::to_string(fabric.spec->mtu.value),
           mtu, line.bond});
    }
  }

  const Underlay& underlay_;
  const model::Cluster& cluster_;
  std::string text_;
};

// Commands that containerlab runs in a leaf: the VLANs and their members.
Value leaf_commands(const Underlay& underlay, const FabricPart& fabric, const SwitchPart& part) {
  const model::Cluster& cluster = underlay.cluster();
  Value commands = Value::list();
  std::vector<std::string> done;
  for (const Gateway& gateway : part.gateways) {
    const std::string vlan = vlan_name(cluster, gateway.subnet);
    if (std::find(done.begin(), done.end(), vlan) != done.end()) continue;
    done.push_back(vlan);
    commands.add(fmt::format("ip link add {} mtu {} type bridge", vlan, switch_mtu(fabric)));
    if (fabric.evpn) {
      const std::string vni = vni_of(cluster, fabric, gateway.subnet);
      commands.add(fmt::format("ip link set {} address {}", vlan, kAnycastMac));
      commands.add(fmt::format("ip link add vni{0} type vxlan id {0} local {1} dstport 4789 nolearning", vni,
                               to_text(cluster.device(part.id).loopback)));
      commands.add(fmt::format("ip link set vni{} master {} up", vni, vlan));
    }
    commands.add(fmt::format("ip link set {} up", vlan));
  }
  for (const model::PortId host : part.host_ports) {
    const model::Port& port = cluster.port(host);
    if (port.subnet == model::kNone<model::SubnetId>) continue;
    commands.add(fmt::format("ip link set {} master {}", interface_name(cluster, cluster.peer_of(host)),
                             vlan_name(cluster, port.subnet)));
  }
  return commands;
}

Value switch_node(const Underlay& underlay, const FabricPart& fabric, const SwitchPart& part) {
  const std::string& name = underlay.cluster().name_of(part.id);
  Value node = Value::map();
  node.set("kind", "linux")
      .set("image", kSwitchImage)
      .set("group", model::to_text(underlay.cluster().group_of(part.id).tier));
  node.set("binds", Value::list({fmt::format("{}/frr.conf:/etc/frr/frr.conf", name),
                                 fmt::format("{}/daemons:/etc/frr/daemons", name)}));
  node.set("sysctls", Value::map()
                          .set("net.ipv4.ip_forward", 1)
                          .set("net.ipv6.conf.all.forwarding", 1)
                          .set("net.ipv4.fib_multipath_hash_policy", 1));
  Value commands = leaf_commands(underlay, fabric, part);
  if (!commands.empty()) node.set("exec", std::move(commands));
  return node;
}

// Hosts have links on several fabrics: their commands are collected across all of them, by device.
class HostNodes {
 public:
  explicit HostNodes(const model::Cluster& cluster) : cluster_(cluster), commands_(cluster.devices().size()) {}

  void add(const FabricPart& fabric, const HostLine& line, model::DeviceId host) {
    Value& commands = commands_[model::index_of(host)];
    if (commands.is_null()) commands = Value::list();
    commands.add(fmt::format("ip link set {} mtu {} up", line.interface, fabric.spec->mtu.value));
    if (line.address.empty()) return;
    commands.add(fmt::format("ip address add {} dev {}", line.address, line.interface));
    if (!line.address6.empty()) commands.add(fmt::format("ip address add {} dev {}", line.address6, line.interface));
    if (!line.reach.empty() && !fabric.evpn) {
      commands.add(fmt::format("ip route replace {} via {} dev {}", line.reach, line.gateway, line.interface));
    }
  }
  void write(Value& nodes) {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (commands_[i].is_null()) continue;
      nodes.put(cluster_.name_of(static_cast<model::DeviceId>(i)), Value::map()
                                                                       .set("kind", "linux")
                                                                       .set("image", kHostImage)
                                                                       .set("group", "host")
                                                                       .set("exec", std::move(commands_[i])));
    }
  }

 private:
  const model::Cluster& cluster_;
  std::vector<Value> commands_;
};

std::string topology(const Underlay& underlay) {
  const model::Cluster& cluster = underlay.cluster();
  Value nodes = Value::map();
  Value links = Value::list();
  HostNodes hosts(cluster);
  const auto join = [&](model::PortId a, model::PortId b) {
    links.add(Value::map().set(
        "endpoints",
        Value::list({fmt::format("{}:{}", cluster.name_of(cluster.port(a).device), interface_name(cluster, a)),
                     fmt::format("{}:{}", cluster.name_of(cluster.port(b).device), interface_name(cluster, b))})));
  };
  for (const FabricPart& fabric : underlay.fabrics()) {
    underlay.each_switch(fabric, [&](model::DeviceId id) {
      const SwitchPart part = underlay.switch_part(id);
      nodes.put(cluster.name_of(id), switch_node(underlay, fabric, part));
      for (const Session& session : part.sessions) {
        if (session.up) join(session.port, session.peer);
      }
      for (const model::PortId host : part.host_ports) {
        if (cluster.port(host).subnet == model::kNone<model::SubnetId>) continue;
        hosts.add(fabric, host_line(underlay, fabric, host), cluster.port(host).device);
        join(host, cluster.peer_of(host));
      }
    });
  }
  hosts.write(nodes);
  Value file = Value::map();
  file.set("name", cluster.name());
  file.set("topology", Value::map().set("nodes", std::move(nodes)).set("links", std::move(links)));
  const Value documents[] = {std::move(file)};
  return write_yaml(documents, heading(cluster, "The lab as a containerlab topology; port p12/2 is named p12-2"));
}

std::string script(const model::Cluster& cluster) {
  std::string text = "#!/usr/bin/env bash\n";
  text += comment_heading(cluster, "Runs the routed fabrics of the cluster, or a part of them, as a lab", "#");
  // Namespaces are named PREFIX-DEVICE, and so are FRR's path spaces (-N). Interfaces have the names of the model's
  // ports with '-' for '/', so that a trace line can be looked up in `weft show cables`.
  text += asset<"render/frr/lab.bash">();
  return text;
}

}  // namespace

void render_lab(const Underlay& underlay, FileSink& sink) {
  const std::vector<std::string> sources = {"fabrics", "pools"};
  sink.add({.path = "frr/lab.tsv",
            .content = LabTable(underlay).write(),
            .consumer = "frr/lab.sh",
            .risk = Risk::none,
            .stage = Stage::acceptance,
            .sources = sources});
  sink.add({.path = "frr/lab.sh",
            .content = script(underlay.cluster()),
            .consumer = "bash, iproute2, FRR",
            .apply = "frr/lab.sh up",
            .mode = "0755",
            .risk = Risk::none,
            .stage = Stage::acceptance,
            .sources = sources});
  sink.add({.path = "frr/topology.clab.yml",
            .content = topology(underlay),
            .consumer = "containerlab",
            .apply = "containerlab deploy --topo frr/topology.clab.yml",
            .risk = Risk::none,
            .stage = Stage::acceptance,
            .sources = sources});
}

}  // namespace weft::render::frr
