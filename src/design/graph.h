// Graphs as flat arrays, and the linear-time questions that failure analysis asks of them: what falls apart without one
// node or one edge (Tarjan 1972, Hopcroft and Tarjan 1973), and what depends on itself (strongly connected components).
// No function recurses, so graphs of any depth are allowed. Independent of clusters.
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

  // Undirected: every edge is an arc of both ends. Edges may be parallel; an edge from a node to itself is left out of
  // the arcs. Ends must be below `nodes`.
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
  std::vector<bool> nodes;           // true: without it, some of its neighbors no longer reach each other
  std::vector<std::uint32_t> edges;  // bridges, ascending; of two parallel edges neither is one
  std::vector<std::uint32_t> piece;  // connected component of each node, numbered by their lowest node
  std::uint32_t pieces = 0;
};
[[nodiscard]] CutPoints cut_points(const Graph& undirected);

// Component of each node; nodes of one component reach each other along the arcs. Numbered so that arcs lead from
// higher numbers to lower ones.
[[nodiscard]] std::vector<std::uint32_t> strong_components(const Graph& directed);

// Fewest arcs from one node to another, both ends included; empty when there is no way. `usable` (one flag a node, or
// empty for all) restricts the nodes it may visit.
[[nodiscard]] std::vector<std::uint32_t> shortest_path(const Graph& graph, std::uint32_t from, std::uint32_t to,
                                                       const std::vector<bool>& usable = {});

}  // namespace weft::design
