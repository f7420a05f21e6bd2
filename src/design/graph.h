// Graphs as flat arrays, with the linear-time algorithms of failure analysis: cut nodes and bridges (Tarjan 1972,
// Hopcroft and Tarjan 1973), and cycles (strongly connected components). No function recurses, so graphs of any depth
// are allowed. Independent of clusters.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weft::design {

class Graph {
 public:
  struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  struct Arc {
    std::uint32_t to = 0;
    std::uint32_t edge = 0;  // index into edges()
  };

  // Undirected: every edge is an arc of both ends. Parallel edges are allowed; an edge from a node to itself is omitted
  // from the arcs. Ends must be below `nodes`.
  static Graph undirected(std::uint32_t nodes, std::vector<Edge> edges) { return Graph(nodes, std::move(edges), true); }
  static Graph directed(std::uint32_t nodes, std::vector<Edge> edges) { return Graph(nodes, std::move(edges), false); }

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(offsets_.size() - 1); }
  [[nodiscard]] std::span<const Edge> edges() const { return edges_; }
  // In the order of the edges.
  [[nodiscard]] std::span<const Arc> arcs(std::uint32_t node) const {
    return std::span(arcs_).subspan(offsets_[node], offsets_[node + 1] - offsets_[node]);
  }

 private:
  Graph(std::uint32_t nodes, std::vector<Edge> edges, bool both_ways);
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> offsets_;
  std::vector<Arc> arcs_;
};

struct CutPoints {
  std::vector<bool> nodes;           // true: without it, some of its neighbors are disconnected from each other
  std::vector<std::uint32_t> edges;  // bridges, ascending; parallel edges are never bridges
  std::vector<std::uint32_t> piece;  // connected component of each node, numbered by its lowest node
  std::uint32_t pieces = 0;
};
[[nodiscard]] CutPoints cut_points(const Graph& undirected);

// Component of each node; nodes of one component can reach each other along the arcs. Numbered so that arcs lead from
// higher to lower numbers.
[[nodiscard]] std::vector<std::uint32_t> strong_components(const Graph& directed);

// A path with the fewest arcs, including both ends; empty if there is none. `usable` (one flag per node, or empty for
// all) restricts the nodes it may visit.
[[nodiscard]] std::vector<std::uint32_t> shortest_path(const Graph& graph, std::uint32_t from, std::uint32_t to,
                                                       const std::vector<bool>& usable = {});

}  // namespace weft::design
