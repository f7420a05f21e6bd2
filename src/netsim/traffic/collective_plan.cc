#include "netsim/traffic/collective_plan.h"

#include <algorithm>
#include <numeric>

namespace weft::netsim {

namespace {

// Ranks of one node, starting with the entry rank of `channel`. Ranks without a rail come second: neither the first nor
// the last of a ring, unless there is one rail only.
std::vector<std::uint32_t> node_order(std::uint32_t ranks, std::uint32_t per_node, std::uint32_t rails,
                                      std::uint32_t node, std::uint32_t channel) {
  const std::uint32_t first = node * per_node;
  const std::uint32_t count = std::min(per_node, ranks - first);
  const std::uint32_t usable = rails > 0 ? std::min(rails, count) : count;
  std::vector<std::uint32_t> order;
  order.push_back(first + channel % usable);
  for (std::uint32_t i = usable; i < count; ++i) order.push_back(first + i);
  for (std::uint32_t i = 1; i < usable; ++i) order.push_back(first + (channel + i) % usable);
  return order;
}

// The binary tree whose odd numbers are leaves: the numbers below `count` in in-order, 0 above the topmost. The parent
// of a number with lowest set bit b has that bit shifted up, or, if that is out of range, cleared.
std::uint32_t binary_parent(std::uint32_t number, std::uint32_t count) {
  const std::uint32_t lowest = number & (0U - number);
  const std::uint64_t cleared = number ^ lowest;
  const std::uint64_t moved = cleared | (std::uint64_t{lowest} << 1U);
  return static_cast<std::uint32_t>(moved < count ? moved : cleared);
}

// Mapping from tree numbers to nodes: the second tree is the first one mirrored or, if that would make the same
// nodes inner again, shifted by one. A broadcast keeps node 0 at the root of both.
struct Numbering {
  std::uint32_t nodes;
  bool second;
  bool keep_first;

  [[nodiscard]] std::uint32_t node_of(std::uint32_t number) const {
    if (!second || nodes < 2) return number;
    if (keep_first) {
      if (number == 0) return 0;
      return nodes % 2 == 1 ? nodes - number : number % (nodes - 1) + 1;
    }
    return nodes % 2 == 0 ? nodes - 1 - number : (number + 1) % nodes;
  }
};

void fill_children(RankTree& tree) {
  const std::size_t count = tree.parent.size();
  tree.offsets.assign(count + 1, 0);
  for (std::size_t i = 1; i < count; ++i) ++tree.offsets[tree.parent[tree.order[i]] + 1];
  std::partial_sum(tree.offsets.begin(), tree.offsets.end(), tree.offsets.begin());
  tree.child_list.resize(count - 1);
  std::vector<std::uint32_t> next(tree.offsets.begin(), tree.offsets.end() - 1);
  for (std::size_t i = 1; i < count; ++i) tree.child_list[next[tree.parent[tree.order[i]]]++] = tree.order[i];
}

// Parents before children, from the root: by depth, then by rank.
void fill_order(RankTree& tree, std::uint32_t root) {
  const std::size_t count = tree.parent.size();
  constexpr std::uint32_t kUnknown = UINT32_MAX;
  std::vector<std::uint32_t> depth(count, kUnknown);
  depth[root] = 0;
  std::vector<std::uint32_t> path;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    path.clear();
    std::uint32_t at = rank;
    for (; depth[at] == kUnknown; at = tree.parent[at]) path.push_back(at);
    for (std::uint32_t below = depth[at] + 1; !path.empty(); path.pop_back()) depth[path.back()] = below++;
  }
  tree.order.resize(count);
  std::iota(tree.order.begin(), tree.order.end(), 0U);
  std::stable_sort(tree.order.begin(), tree.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return depth[a] < depth[b]; });
}

}  // namespace

std::vector<std::uint32_t> ring_order(std::uint32_t ranks, const CollectiveShape& shape, std::uint32_t channel) {
  std::vector<std::uint32_t> order;
  order.reserve(ranks);
  for (std::uint32_t node = 0; order.size() < ranks; ++node) {
    std::vector<std::uint32_t> part = node_order(ranks, shape.ranks_per_node, shape.rails, node, channel);
    if (shape.same_rail && node % 2 == 1) std::reverse(part.begin(), part.end());
    order.insert(order.end(), part.begin(), part.end());
  }
  return order;
}

RankTree rank_tree(std::uint32_t ranks, const CollectiveShape& shape, std::uint32_t channel, bool second) {
  const bool broadcast = shape.operation == Collective::broadcast;
  const std::uint32_t per_node = std::min(shape.ranks_per_node, ranks);
  const std::uint32_t nodes = (ranks - 1) / per_node + 1;
  const Numbering numbering{nodes, second, broadcast};
  RankTree tree;
  tree.parent.resize(ranks);
  std::vector<std::uint32_t> heads(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const std::uint32_t turn = broadcast && node == 0 ? 0 : channel;
    const std::vector<std::uint32_t> chain = node_order(ranks, per_node, shape.rails, node, turn);
    heads[node] = chain[0];
    for (std::size_t i = 1; i < chain.size(); ++i) tree.parent[chain[i]] = chain[i - 1];
  }
  for (std::uint32_t number = 1; number < nodes; ++number) {
    tree.parent[heads[numbering.node_of(number)]] = heads[numbering.node_of(binary_parent(number, nodes))];
  }
  const std::uint32_t root = heads[numbering.node_of(0)];
  tree.parent[root] = root;
  fill_order(tree, root);
  fill_children(tree);
  return tree;
}

CollectivePlan::CollectivePlan(TransferGraph& graph, std::span<const NodeId> ranks, const CollectiveShape& shape,
                               std::span<const TransferId> after)
    : graph_(graph), ranks_(ranks), shape_(shape), after_(after) {
  touched_.reserve(2 * after.size());
  for (const TransferId id : after) {
    touched_.emplace_back(graph[id].source, id);
    touched_.emplace_back(graph[id].destination, id);
  }
  std::sort(touched_.begin(), touched_.end());
}

std::vector<TransferId> CollectivePlan::ring(std::span<const std::uint32_t> order, Bytes bytes, std::uint32_t rounds) {
  std::vector<TransferId> ids;
  ids.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ids.push_back(first_send(order[i], order[(i + 1) % order.size()], bytes));
    graph_.edit(ids[i]).rounds = rounds;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    graph_.edit(ids[i]).round_after = ids[(i + order.size() - 1) % order.size()];
  }
  return ids;
}

TransferId CollectivePlan::send(std::uint32_t from, std::uint32_t to, Bytes bytes) {
  Transfer transfer;
  transfer.source = ranks_[from];
  transfer.destination = ranks_[to];
  transfer.bytes = bytes;
  transfer.start = shape_.start;
  transfer.traffic_class = shape_.traffic_class;
  transfer.queue_pairs = shape_.queue_pairs;
  transfer.tag = shape_.tag;
  return graph_.add(transfer);
}

TransferId CollectivePlan::first_send(std::uint32_t from, std::uint32_t to, Bytes bytes) {
  const TransferId id = send(from, to, bytes);
  begin(id, from);
  return id;
}

void CollectivePlan::begin(TransferId transfer, std::uint32_t rank) {
  if (after_.empty()) return;
  auto at = std::lower_bound(touched_.begin(), touched_.end(), std::pair(ranks_[rank], TransferId{0}));
  if (at == touched_.end() || at->first != ranks_[rank]) {
    for (const TransferId id : after_) graph_.depend(transfer, id);
    return;
  }
  for (; at != touched_.end() && at->first == ranks_[rank]; ++at) graph_.depend(transfer, at->second);
}

}  // namespace weft::netsim
