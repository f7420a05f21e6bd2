#include "design/graph.h"

#include <algorithm>

namespace weft::design {
namespace {

constexpr std::uint32_t kUnseen = 0xFFFFFFFFU;

// A node of the traversal with arcs left to visit.
struct Step {
  std::uint32_t node = 0;
  std::uint32_t by_edge = kUnseen;
  std::uint32_t next = 0;  // next arc to visit
};

class CutPointSearch {
 public:
  explicit CutPointSearch(const Graph& graph)
      : graph_(graph), order_(graph.nodes(), kUnseen), low_(graph.nodes(), kUnseen) {
    found_.nodes.assign(graph.nodes(), false);
    found_.piece.assign(graph.nodes(), kUnseen);
  }

  CutPoints run() {
    for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
      if (order_[node] == kUnseen) walk(node);
    }
    std::sort(found_.edges.begin(), found_.edges.end());
    return std::move(found_);
  }

 private:
  void visit(std::uint32_t node, std::uint32_t by_edge) {
    order_[node] = low_[node] = clock_++;
    found_.piece[node] = found_.pieces;
    path_.push_back({node, by_edge, 0});
  }

  void walk(std::uint32_t root) {
    std::uint32_t children = 0;
    visit(root, kUnseen);
    while (!path_.empty()) {
      Step& step = path_.back();
      const auto arcs = graph_.arcs(step.node);
      if (step.next < arcs.size()) {
        const Graph::Arc arc = arcs[step.next++];
        if (arc.edge == step.by_edge) continue;  // the edge to the parent; a parallel one has another number
        if (order_[arc.to] != kUnseen) {
          low_[step.node] = std::min(low_[step.node], order_[arc.to]);
        } else {
          children += step.node == root ? 1 : 0;
          visit(arc.to, arc.edge);
        }
        continue;
      }
      const Step done = step;
      path_.pop_back();
      if (path_.empty()) break;
      const std::uint32_t parent = path_.back().node;
      low_[parent] = std::min(low_[parent], low_[done.node]);
      if (low_[done.node] > order_[parent]) found_.edges.push_back(done.by_edge);
      if (parent != root && low_[done.node] >= order_[parent]) found_.nodes[parent] = true;
    }
    found_.nodes[root] = children > 1;
    ++found_.pieces;
  }

  const Graph& graph_;
  CutPoints found_;
  std::vector<std::uint32_t> order_;  // when a node was first visited
  std::vector<std::uint32_t> low_;    // earliest node reachable from it or its descendants
  std::vector<Step> path_;
  std::uint32_t clock_ = 0;
};

}  // namespace

Graph::Graph(std::uint32_t nodes, std::vector<Edge> edges, bool both_ways)
    : edges_(std::move(edges)), offsets_(std::size_t{nodes} + 1, 0) {
  for (const Edge& edge : edges_) {
    if (edge.from == edge.to && both_ways) continue;
    ++offsets_[edge.from + 1];
    if (both_ways) ++offsets_[edge.to + 1];
  }
  for (std::size_t n = 1; n < offsets_.size(); ++n) offsets_[n] += offsets_[n - 1];
  arcs_.resize(offsets_.back());
  std::vector<std::uint32_t> at(offsets_.begin(), offsets_.end() - 1);
  for (std::uint32_t e = 0; e < edges_.size(); ++e) {
    const Edge& edge = edges_[e];
    if (edge.from == edge.to && both_ways) continue;
    arcs_[at[edge.from]++] = {edge.to, e};
    if (both_ways) arcs_[at[edge.to]++] = {edge.from, e};
  }
}

CutPoints cut_points(const Graph& undirected) { return CutPointSearch(undirected).run(); }

// Tarjan's algorithm with an explicit stack.
std::vector<std::uint32_t> strong_components(const Graph& directed) {
  const std::uint32_t count = directed.nodes();
  std::vector<std::uint32_t> component(count, kUnseen);
  std::vector<std::uint32_t> order(count, kUnseen);
  std::vector<std::uint32_t> low(count, kUnseen);
  std::vector<std::uint32_t> open;  // visited, not yet in a component
  std::vector<Step> path;
  std::uint32_t clock = 0;
  std::uint32_t components = 0;
  const auto visit = [&](std::uint32_t node) {
    order[node] = low[node] = clock++;
    open.push_back(node);
    path.push_back({node, kUnseen, 0});
  };
  for (std::uint32_t root = 0; root < count; ++root) {
    if (order[root] != kUnseen) continue;
    visit(root);
    while (!path.empty()) {
      Step& step = path.back();
      const auto arcs = directed.arcs(step.node);
      if (step.next < arcs.size()) {
        const std::uint32_t to = arcs[step.next++].to;
        if (order[to] == kUnseen) {
          visit(to);
        } else if (component[to] == kUnseen) {
          low[step.node] = std::min(low[step.node], order[to]);
        }
        continue;
      }
      const std::uint32_t node = step.node;
      path.pop_back();
      if (!path.empty()) low[path.back().node] = std::min(low[path.back().node], low[node]);
      if (low[node] != order[node]) continue;
      std::uint32_t member = kUnseen;
      do {
        member = open.back();
        open.pop_back();
        component[member] = components;
      } while (member != node);
      ++components;
    }
  }
  return component;
}

std::vector<std::uint32_t> shortest_path(const Graph& graph, std::uint32_t from, std::uint32_t to,
                                         const std::vector<bool>& usable) {
  const auto allowed = [&](std::uint32_t node) { return usable.empty() || usable[node]; };
  std::vector<std::uint32_t> way;
  if (!allowed(from) || !allowed(to)) return way;
  std::vector<std::uint32_t> came_from(graph.nodes(), kUnseen);
  std::vector<std::uint32_t> queue{from};
  came_from[from] = from;
  for (std::size_t head = 0; head < queue.size() && came_from[to] == kUnseen; ++head) {
    for (const Graph::Arc& arc : graph.arcs(queue[head])) {
      if (came_from[arc.to] != kUnseen || !allowed(arc.to)) continue;
      came_from[arc.to] = queue[head];
      queue.push_back(arc.to);
    }
  }
  if (came_from[to] == kUnseen) return way;
  for (std::uint32_t node = to; node != from; node = came_from[node]) way.push_back(node);
  way.push_back(from);
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace weft::design
