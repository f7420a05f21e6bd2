// The switches of one fabric as a graph, with its cut nodes and bridges. Hosts are not nodes: servers do not forward,
// so two rails connected only through servers are separate. Parallel cables are one edge with a count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "design/graph.h"
#include "model/cluster.h"

namespace weft::design {

inline constexpr std::uint32_t kNotInGraph = 0xFFFFFFFFU;

class FabricGraph {
 public:
  struct Trunk {
    model::CableId first = model::kNone<model::CableId>;
    std::uint32_t cables = 0;
  };

  // An out-of-band network that is connected through the frontend has the frontend's switches in its graph too.
  FabricGraph(const model::Cluster& cluster, model::FabricKind fabric);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const CutPoints& cuts() const { return cuts_; }
  [[nodiscard]] std::span<const model::DeviceId> switches() const { return switches_; }
  [[nodiscard]] std::uint32_t node_of(model::DeviceId id) const {
    return node_of_[model::index_of(id)];
  }  // kNotInGraph: not in the graph
  [[nodiscard]] const Trunk& trunk(std::uint32_t edge) const { return trunks_[edge]; }
  // Host cables that end on a switch.
  [[nodiscard]] std::uint32_t hosts_on(std::uint32_t node) const { return hosts_[node]; }
  // Cables whose loss alone splits the graph.
  [[nodiscard]] std::vector<model::CableId> bridges() const;

 private:
  std::vector<model::DeviceId> switches_;
  std::vector<std::uint32_t> node_of_;
  std::vector<std::uint32_t> hosts_;
  std::vector<Trunk> trunks_;  // parallel to the graph's edges
  Graph graph_ = Graph::undirected(0, {});
  CutPoints cuts_;
};

// A cable from a server, or from a management port, to its leaf.
[[nodiscard]] inline bool ends_on_host(model::CableRole role) {
  return role == model::CableRole::host_leaf || role == model::CableRole::manager_leaf;
}

}  // namespace weft::design
