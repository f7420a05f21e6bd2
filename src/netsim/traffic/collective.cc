#include "netsim/traffic/collective.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "netsim/traffic/collective_plan.h"

namespace weft::netsim {

namespace {

constexpr std::int64_t kMinChunk = 64 * 1024;
constexpr std::int64_t kMaxChunks = 4096;

std::vector<TransferId> add_ring(CollectivePlan& plan, const CollectiveShape& shape) {
  const std::uint32_t passes = shape.operation == Collective::all_reduce ? 2 : 1;
  std::vector<TransferId> ends;
  for (std::uint32_t c = 0; c < shape.channels; ++c) {
    const std::vector<std::uint32_t> order = ring_order(plan.size(), shape, c);
    const Bytes chunk = divide_up(divide_up(shape.bytes, shape.channels), plan.size());
    const std::vector<TransferId> ring = plan.ring(order, chunk, passes * (plan.size() - 1));
    ends.insert(ends.end(), ring.begin(), ring.end());
  }
  return ends;
}

// Node-local reduce-scatter, a ring over the nodes on every rail with 1/g of the bytes, node-local all-gather;
// all-gather omits the first phase and reduce-scatter the last. Every rank goes from one phase to the next when the
// last round sent to it has arrived.
class Hierarchy {
 public:
  Hierarchy(CollectivePlan& plan, const CollectiveShape& shape)
      : plan_(plan),
        per_node_(shape.ranks_per_node),
        nodes_(plan.size() / shape.ranks_per_node),
        bytes_(divide_up(shape.bytes, shape.channels)) {}

  std::vector<TransferId> add(Collective operation) {
    arrived_.assign(plan_.size(), model::kNone<TransferId>);
    if (operation != Collective::all_gather) within_nodes();
    across_nodes(operation == Collective::all_reduce ? 2 : 1);
    if (operation != Collective::reduce_scatter) within_nodes();
    return arrived_;
  }

 private:
  void within_nodes() {
    for (std::uint32_t node = 0; node < nodes_; ++node) ring(node * per_node_, 1, per_node_, per_node_, 1);
  }
  void across_nodes(std::uint32_t passes) {
    for (std::uint32_t rail = 0; rail < per_node_; ++rail) ring(rail, per_node_, nodes_, plan_.size(), passes);
  }
  // A ring over `count` ranks, `stride` apart, that splits the bytes into `parts`.
  void ring(std::uint32_t first, std::uint32_t stride, std::uint32_t count, std::uint32_t parts, std::uint32_t passes) {
    if (count < 2) return;
    std::vector<std::uint32_t> order(count);
    for (std::uint32_t i = 0; i < count; ++i) order[i] = first + i * stride;
    const std::vector<TransferId> ids = plan_.ring(order, divide_up(bytes_, parts), passes * (count - 1));
    for (std::uint32_t i = 0; i < count; ++i) plan_.depend(ids[i], arrived_[order[i]]);
    for (std::uint32_t i = 0; i < count; ++i) arrived_[order[(i + 1) % count]] = ids[i];
  }

  CollectivePlan& plan_;
  std::uint32_t per_node_;
  std::uint32_t nodes_;
  Bytes bytes_;
  std::vector<TransferId> arrived_;  // by rank: the transfer whose last round completes its phase
};

std::vector<TransferId> add_hierarchical(CollectivePlan& plan, const CollectiveShape& shape) {
  std::vector<TransferId> ends;
  for (std::uint32_t c = 0; c < shape.channels; ++c) {
    const std::vector<TransferId> last = Hierarchy(plan, shape).add(shape.operation);
    ends.insert(ends.end(), last.begin(), last.end());
  }
  return ends;
}

// The number of chunks that `bytes` are sent in; each is bytes / chunks, rounded up.
std::uint32_t chunk_count(const CollectiveShape& shape, Bytes bytes, std::size_t least) {
  const std::int64_t wanted = static_cast<std::int64_t>(least);
  const Bytes chunk = shape.chunk.count() > 0 ? shape.chunk : std::max(divide_up(bytes, wanted), Bytes(kMinChunk));
  return static_cast<std::uint32_t>(std::min((bytes.count() - 1) / chunk.count() + 1, kMaxChunks));
}

Bytes tree_bytes(const CollectiveShape& shape) { return divide_up(divide_up(shape.bytes, shape.channels), 2); }
std::uint32_t tree_chunks(const CollectiveShape& shape) { return chunk_count(shape, tree_bytes(shape), 8); }
std::uint32_t ring_broadcast_chunks(const CollectiveShape& shape, std::size_t ranks) {
  constexpr std::size_t kMaxTogether = 4'000'000;  // beyond that a longer pipeline is not worth its memory
  const std::size_t least = std::clamp(ranks, std::size_t{8}, std::max(kMaxTogether / ranks, std::size_t{8}));
  return chunk_count(shape, divide_up(shape.bytes, shape.channels), least);
}

// Chunk by chunk over one tree: up (reduce), then down (broadcast) once the root has it from all its children.
std::vector<TransferId> add_tree(CollectivePlan& plan, const CollectiveShape& shape, const RankTree& tree) {
  const std::uint32_t chunks = tree_chunks(shape);
  const Bytes bytes = divide_up(tree_bytes(shape), chunks);
  const bool reduce = shape.operation == Collective::all_reduce;
  const std::uint32_t count = plan.size();
  std::vector<TransferId> up(count, model::kNone<TransferId>);    // by child: the last chunk sent to its parent
  std::vector<TransferId> down(count, model::kNone<TransferId>);  // by child: the last chunk sent by its parent
  const auto send = [&](std::uint32_t from, std::uint32_t to, TransferId& last) {
    const TransferId id =
        last == model::kNone<TransferId> ? plan.first_send(from, to, bytes) : plan.send(from, to, bytes);
    plan.depend(id, last);
    last = id;
    return id;
  };
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::uint32_t i = count - 1; reduce && i > 0; --i) {
      const std::uint32_t rank = tree.order[i];
      const TransferId id = send(rank, tree.parent[rank], up[rank]);
      for (const std::uint32_t child : tree.children(rank)) plan.depend(id, up[child]);
    }
    for (std::uint32_t i = 1; i < count; ++i) {
      const std::uint32_t rank = tree.order[i];
      const std::uint32_t parent = tree.parent[rank];
      const TransferId id = send(parent, rank, down[rank]);
      if (parent != tree.order[0]) {
        plan.depend(id, down[parent]);
      } else if (reduce) {
        for (const std::uint32_t child : tree.children(parent)) plan.depend(id, up[child]);
      }
    }
  }
  std::erase(down, model::kNone<TransferId>);
  return down;
}

std::vector<TransferId> add_trees(CollectivePlan& plan, const CollectiveShape& shape) {
  std::vector<TransferId> ends;
  for (std::uint32_t c = 0; c < shape.channels; ++c) {
    for (const bool second : {false, true}) {
      const std::vector<TransferId> last = add_tree(plan, shape, rank_tree(plan.size(), shape, c, second));
      ends.insert(ends.end(), last.begin(), last.end());
    }
  }
  return ends;
}

std::vector<TransferId> add_ring_broadcast(CollectivePlan& plan, const CollectiveShape& shape) {
  const std::uint32_t chunks = ring_broadcast_chunks(shape, plan.size());
  const Bytes bytes = divide_up(divide_up(shape.bytes, shape.channels), chunks);
  std::vector<TransferId> ends;
  for (std::uint32_t c = 0; c < shape.channels; ++c) {
    std::vector<std::uint32_t> order = ring_order(plan.size(), shape, c);
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0U), order.end());
    std::vector<TransferId> last(order.size() - 1, model::kNone<TransferId>);  // by edge: its latest chunk
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        const TransferId id =
            chunk == 0 ? plan.first_send(order[i], order[i + 1], bytes) : plan.send(order[i], order[i + 1], bytes);
        plan.depend(id, last[i]);
        if (i > 0) plan.depend(id, last[i - 1]);
        last[i] = id;
      }
    }
    ends.insert(ends.end(), last.begin(), last.end());
  }
  return ends;
}

std::vector<TransferId> add_pairwise(CollectivePlan& plan, const CollectiveShape& shape) {
  const std::uint32_t count = plan.size();
  const Bytes bytes = divide_up(shape.bytes, count);
  std::vector<TransferId> last;
  for (std::uint32_t step = 1; step < count; ++step) {
    std::vector<TransferId> sent;
    for (std::uint32_t r = 0; r < count; ++r) {
      const std::uint32_t peer = (r + step) % count;
      sent.push_back(step == 1 ? plan.first_send(r, peer, bytes) : plan.send(r, peer, bytes));
      if (step == 1) continue;
      plan.depend(sent[r], last[r]);
      plan.depend(sent[r], last[(r + count - (step - 1)) % count]);
    }
    last = std::move(sent);
  }
  return last;
}

std::vector<TransferId> add_neighbors(CollectivePlan& plan, const CollectiveShape& shape) {
  std::vector<TransferId> ends;
  for (std::uint32_t r = 0; r < plan.size(); ++r) {
    ends.push_back(plan.first_send(r, (r + 1) % plan.size(), shape.bytes));
  }
  return ends;
}

}  // namespace

Algorithm algorithm_used(const CollectiveShape& shape, std::size_t ranks) {
  const bool broadcast = shape.operation == Collective::broadcast;
  const bool all_reduce = shape.operation == Collective::all_reduce;
  switch (shape.algorithm) {
    case Algorithm::ring:
      break;
    case Algorithm::tree:
      if (all_reduce || broadcast) return Algorithm::tree;
      break;
    case Algorithm::hierarchical:
      if (shape.ranks_per_node > 0 && ranks % shape.ranks_per_node == 0 &&
          (all_reduce || shape.operation == Collective::all_gather || shape.operation == Collective::reduce_scatter)) {
        return Algorithm::hierarchical;
      }
      break;
  }
  return Algorithm::ring;
}

std::uint64_t transfer_count(const CollectiveShape& shape, std::size_t ranks) {
  if (ranks < 2 || shape.channels == 0) return 0;
  const Algorithm algorithm = algorithm_used(shape, ranks);
  Uint128 count = ranks;
  if (shape.operation == Collective::all_to_all) {
    count *= ranks - 1;
  } else if (algorithm == Algorithm::tree) {
    const std::uint32_t ways = shape.operation == Collective::all_reduce ? 2 : 1;
    count = static_cast<Uint128>(ranks - 1) * shape.channels * 2U * ways * tree_chunks(shape);
  } else if (shape.operation == Collective::broadcast) {
    count = static_cast<Uint128>(ranks - 1) * shape.channels * ring_broadcast_chunks(shape, ranks);
  } else if (algorithm == Algorithm::hierarchical) {
    const std::uint32_t local = shape.operation == Collective::all_reduce ? 2 : 1;
    count *= (shape.ranks_per_node > 1 ? local : 0U) + (ranks > shape.ranks_per_node ? 1U : 0U);
    count *= shape.channels;
  } else if (shape.operation != Collective::send_recv) {
    count *= shape.channels;
  }
  return count > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(count);
}

std::vector<TransferId> add_collective(TransferGraph& graph, std::span<const NodeId> ranks,
                                       const CollectiveShape& shape, std::span<const TransferId> after) {
  CHECK(shape.bytes.count() > 0 && shape.channels > 0 && shape.ranks_per_node > 0, "a collective without a size");
  CHECK(transfer_count(shape, ranks.size()) <= kMaxTransfers, "too many transfers");
  if (ranks.size() < 2) return {after.begin(), after.end()};
  CollectivePlan plan(graph, ranks, shape, after);
  if (shape.operation == Collective::all_to_all) return add_pairwise(plan, shape);
  if (shape.operation == Collective::send_recv) return add_neighbors(plan, shape);
  const Algorithm algorithm = algorithm_used(shape, ranks.size());
  if (algorithm == Algorithm::tree) return add_trees(plan, shape);
  if (algorithm == Algorithm::hierarchical) return add_hierarchical(plan, shape);
  if (shape.operation == Collective::broadcast) return add_ring_broadcast(plan, shape);
  return add_ring(plan, shape);
}

double bus_factor(Collective operation, std::uint32_t ranks) {
  if (ranks == 0) return 0;
  const double n = ranks;
  switch (operation) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::send_recv:
      return 1;
  }
  return 1;
}

std::string_view to_text(Collective operation) {
  switch (operation) {
    case Collective::all_reduce:
      return "all-reduce";
    case Collective::all_gather:
      return "all-gather";
    case Collective::reduce_scatter:
      return "reduce-scatter";
    case Collective::all_to_all:
      return "all-to-all";
    case Collective::broadcast:
      return "broadcast";
    case Collective::send_recv:
      return "send-recv";
  }
  return "?";
}

std::string_view to_text(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::tree:
      return "tree";
    case Algorithm::hierarchical:
      return "hierarchical";
  }
  return "?";
}

}  // namespace weft::netsim
