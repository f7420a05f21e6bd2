#include "netsim/network/topologies.h"

#include <fmt/format.h>

namespace weft::netsim {

namespace {

NodeId add_host(NetworkBuilder& builder, std::uint32_t number) {
  Node node;
  node.group = number;
  return builder.add_node(node, fmt::format("host{}", number));
}

NodeId add_switch(NetworkBuilder& builder, int tier, std::uint32_t pod, std::uint16_t buffer, std::string name) {
  Node node;
  node.kind = NodeKind::network_switch;
  node.tier = static_cast<std::uint8_t>(tier);
  node.group = pod;
  node.buffer = buffer;
  return builder.add_node(node, std::move(name));
}

std::vector<NodeId> add_hosts(NetworkBuilder& builder, std::uint32_t count) {
  std::vector<NodeId> hosts;
  for (std::uint32_t h = 0; h < count; ++h) hosts.push_back(add_host(builder, h));
  return hosts;
}

}  // namespace

Network fat_tree(const FatTreeShape& shape) {
  CHECK(shape.aggs_per_pod > 0 && shape.cores % shape.aggs_per_pod == 0, "cores are not a multiple of aggs");
  NetworkBuilder builder;
  const std::uint16_t buffer = builder.add_buffer(shape.buffer);
  const std::vector<NodeId> hosts = add_hosts(builder, shape.pods * shape.tors_per_pod * shape.hosts_per_tor);
  std::vector<NodeId> tors;
  std::vector<NodeId> aggs;
  std::vector<NodeId> cores;
  for (std::uint32_t t = 0; t < shape.pods * shape.tors_per_pod; ++t) {
    tors.push_back(add_switch(builder, 1, t / shape.tors_per_pod, buffer, fmt::format("tor{}", t)));
  }
  for (std::uint32_t a = 0; a < shape.pods * shape.aggs_per_pod; ++a) {
    aggs.push_back(add_switch(builder, 2, a / shape.aggs_per_pod, buffer, fmt::format("agg{}", a)));
  }
  for (std::uint32_t c = 0; c < shape.cores; ++c) {
    cores.push_back(add_switch(builder, 3, shape.pods, buffer, fmt::format("core{}", c)));
  }
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    builder.connect(hosts[h], tors[h / shape.hosts_per_tor], shape.rate, shape.delay);
  }
  for (std::uint32_t t = 0; t < tors.size(); ++t) {
    for (std::uint32_t a = 0; a < shape.aggs_per_pod; ++a) {
      builder.connect(tors[t], aggs[t / shape.tors_per_pod * shape.aggs_per_pod + a], shape.rate, shape.delay);
    }
  }
  const std::uint32_t cores_each = shape.cores / shape.aggs_per_pod;
  for (std::uint32_t a = 0; a < aggs.size(); ++a) {
    for (std::uint32_t c = 0; c < cores_each; ++c) {
      builder.connect(aggs[a], cores[a % shape.aggs_per_pod * cores_each + c], shape.rate, shape.delay);
    }
  }
  return std::move(builder).finish();
}

Network leaf_spine(const LeafSpineShape& shape) {
  NetworkBuilder builder;
  const std::uint16_t buffer = builder.add_buffer(shape.buffer);
  const std::vector<NodeId> hosts = add_hosts(builder, shape.leaves * shape.hosts_per_leaf);
  std::vector<NodeId> leaves;
  std::vector<NodeId> spines;
  for (std::uint32_t l = 0; l < shape.leaves; ++l) {
    leaves.push_back(add_switch(builder, 1, l, buffer, fmt::format("leaf{}", l)));
  }
  for (std::uint32_t s = 0; s < shape.spines; ++s) {
    spines.push_back(add_switch(builder, 2, shape.leaves, buffer, fmt::format("spine{}", s)));
  }
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    builder.connect(hosts[h], leaves[h / shape.hosts_per_leaf], shape.host_rate, shape.delay);
  }
  for (const NodeId leaf : leaves) {
    for (const NodeId spine : spines) {
      for (std::uint32_t i = 0; i < shape.links_per_spine; ++i) {
        builder.connect(leaf, spine, shape.uplink_rate, shape.delay);
      }
    }
  }
  return std::move(builder).finish();
}

Network star(std::uint32_t hosts, BitRate rate, SimTime delay, SwitchBuffer buffer) {
  NetworkBuilder builder;
  const std::uint16_t kind = builder.add_buffer(buffer);
  const std::vector<NodeId> ends = add_hosts(builder, hosts);
  const NodeId middle = add_switch(builder, 1, 0, kind, "switch0");
  for (const NodeId end : ends) builder.connect(end, middle, rate, delay);
  return std::move(builder).finish();
}

Network ring_of_switches(std::uint32_t switches, std::uint32_t hosts_each, BitRate rate, SimTime delay,
                         SwitchBuffer buffer) {
  NetworkBuilder builder;
  const std::uint16_t kind = builder.add_buffer(buffer);
  const std::vector<NodeId> hosts = add_hosts(builder, switches * hosts_each);
  std::vector<NodeId> ring;
  for (std::uint32_t s = 0; s < switches; ++s) {
    ring.push_back(add_switch(builder, 1, s, kind, fmt::format("switch{}", s)));
  }
  for (std::uint32_t h = 0; h < hosts.size(); ++h) builder.connect(hosts[h], ring[h / hosts_each], rate, delay);
  for (std::uint32_t s = 0; s < switches; ++s) builder.connect(ring[s], ring[(s + 1) % switches], rate, delay);
  return std::move(builder).finish();
}

}  // namespace weft::netsim
