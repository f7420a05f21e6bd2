#include "design/fabric_graph.h"

#include <algorithm>
#include <tuple>

namespace weft::design {

FabricGraph::FabricGraph(const model::Cluster& cluster, model::FabricKind fabric)
    : node_of_(cluster.devices().size(), kNotInGraph) {
  const bool over_frontend = fabric == model::FabricKind::oob && *cluster.spec().fabrics->oob->uplink_to_frontend;
  const auto belongs = [&](model::FabricKind other) {
    return other == fabric || (over_frontend && other == model::FabricKind::frontend);
  };
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::network_switch || !belongs(group.fabric)) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      node_of_[model::index_of(group.first) + i] = static_cast<std::uint32_t>(switches_.size());
      switches_.push_back(static_cast<model::DeviceId>(model::index_of(group.first) + i));
    }
  }
  hosts_.assign(switches_.size(), 0);
  using Link = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // lower node, higher node, cable
  std::vector<Link> links;
  for (std::uint32_t c = 0; c < cluster.cables().size(); ++c) {
    const model::Cable& cable = cluster.cables()[c];
    if (!belongs(cable.fabric)) continue;
    const std::uint32_t a = node_of(cluster.port(cable.a).device);
    const std::uint32_t b = node_of(cluster.port(cable.b).device);
    if (ends_on_host(cable.role)) {
      if (b != kNotInGraph && cable.fabric == fabric) ++hosts_[b];
    } else if (a != kNotInGraph && b != kNotInGraph) {
      links.emplace_back(std::min(a, b), std::max(a, b), c);
    }
  }
  std::sort(links.begin(), links.end());
  std::vector<Graph::Edge> edges;
  for (const auto& [a, b, cable] : links) {
    if (edges.empty() || edges.back().from != a || edges.back().to != b) {
      edges.push_back({a, b});
      trunks_.push_back({static_cast<model::CableId>(cable), 0});
    }
    ++trunks_.back().cables;
  }
  graph_ = Graph::undirected(static_cast<std::uint32_t>(switches_.size()), std::move(edges));
  cuts_ = cut_points(graph_);
}

std::vector<model::CableId> FabricGraph::bridges() const {
  std::vector<model::CableId> cables;
  for (const std::uint32_t edge : cuts_.edges) {
    if (trunks_[edge].cables == 1) cables.push_back(trunks_[edge].first);
  }
  return cables;
}

}  // namespace weft::design
