#include "design/graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace weft::design {
namespace {

using Edges = std::vector<Graph::Edge>;

// Components of the graph without one node or one edge, by brute force.
std::uint32_t pieces_without(std::uint32_t nodes, const Edges& edges, std::uint32_t no_node, std::size_t no_edge) {
  std::vector<std::uint32_t> label(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) label[n] = n;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const auto [a, b] = edges[e];
      if (e == no_edge || a == no_node || b == no_node || label[a] == label[b]) continue;
      label[a] = label[b] = std::min(label[a], label[b]);
      changed = true;
    }
  }
  std::uint32_t pieces = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) pieces += n != no_node && label[n] == n ? 1U : 0U;
  return pieces;
}

TEST(CutPoints, OfAPathAndARing) {
  const CutPoints path = cut_points(Graph::undirected(4, {{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(path.nodes, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(path.edges, (std::vector<std::uint32_t>{0, 1, 2}));
  const CutPoints ring = cut_points(Graph::undirected(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  EXPECT_EQ(ring.nodes, (std::vector<bool>(4, false)));
  EXPECT_TRUE(ring.edges.empty());
}

TEST(CutPoints, ParallelEdgesAreNotBridges) {
  const CutPoints found = cut_points(Graph::undirected(3, {{0, 1}, {0, 1}, {1, 2}}));
  EXPECT_EQ(found.edges, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(found.nodes, (std::vector<bool>{false, true, false}));
}

TEST(CutPoints, AgreesWithTakingThingsAway) {
  RandomStream random(7, "cut points");
  for (int round = 0; round < 300; ++round) {
    const auto nodes = static_cast<std::uint32_t>(2 + random.below(9));
    Edges edges;
    const std::uint64_t count = random.below(std::uint64_t{2} * nodes);
    for (std::uint64_t e = 0; e < count; ++e) {
      edges.push_back(
          {static_cast<std::uint32_t>(random.below(nodes)), static_cast<std::uint32_t>(random.below(nodes))});
    }
    const CutPoints found = cut_points(Graph::undirected(nodes, edges));
    const std::uint32_t whole = pieces_without(nodes, edges, nodes, edges.size());
    EXPECT_EQ(found.pieces, whole);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      EXPECT_EQ(found.nodes[n], pieces_without(nodes, edges, n, edges.size()) > whole) << "node " << n;
    }
    for (std::uint32_t e = 0; e < edges.size(); ++e) {
      EXPECT_EQ(std::count(found.edges.begin(), found.edges.end(), e) == 1,
                pieces_without(nodes, edges, nodes, e) > whole)
          << "edge " << e;
    }
  }
}

TEST(CutPoints, LongPathDoesNotOverflowTheStack) {
  constexpr std::uint32_t kLong = 1'000'000;
  Edges edges;
  for (std::uint32_t n = 0; n + 1 < kLong; ++n) edges.push_back({n, n + 1});
  EXPECT_EQ(cut_points(Graph::undirected(kLong, edges)).edges.size(), kLong - 1);
  EXPECT_EQ(strong_components(Graph::directed(kLong, edges)).front(), kLong - 1);
}

TEST(StrongComponents, AreMutualReachability) {
  RandomStream random(11, "strong components");
  for (int round = 0; round < 200; ++round) {
    const auto nodes = static_cast<std::uint32_t>(1 + random.below(8));
    Edges edges;
    const std::uint64_t count = random.below(std::uint64_t{2} * nodes);
    for (std::uint64_t e = 0; e < count; ++e) {
      edges.push_back(
          {static_cast<std::uint32_t>(random.below(nodes)), static_cast<std::uint32_t>(random.below(nodes))});
    }
    const Graph graph = Graph::directed(nodes, edges);
    const auto component = strong_components(graph);
    for (std::uint32_t a = 0; a < nodes; ++a) {
      for (std::uint32_t b = 0; b < nodes; ++b) {
        const bool there = !shortest_path(graph, a, b).empty();
        const bool back = !shortest_path(graph, b, a).empty();
        EXPECT_EQ(component[a] == component[b], there && back);
        if (there && !back) {
          EXPECT_GT(component[a], component[b]);
        }
      }
    }
  }
}

TEST(ShortestPath, AvoidsNodesThatAreNotUsable) {
  const Graph graph = Graph::undirected(5, {{0, 1}, {1, 4}, {0, 2}, {2, 3}, {3, 4}});
  EXPECT_EQ(shortest_path(graph, 0, 4), (std::vector<std::uint32_t>{0, 1, 4}));
  EXPECT_EQ(shortest_path(graph, 0, 4, {true, false, true, true, true}), (std::vector<std::uint32_t>{0, 2, 3, 4}));
  EXPECT_TRUE(shortest_path(graph, 0, 4, {true, false, false, true, true}).empty());
}

}  // namespace
}  // namespace weft::design
