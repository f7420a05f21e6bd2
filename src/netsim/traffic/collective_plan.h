// Building blocks of collectives: orders of ranks in rings and trees, and transfers between ranks by number. Internal
// to traffic/collective.cc and its tests.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "netsim/traffic/collective.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim {

// The ranks in the order in which ring `channel` visits them.
[[nodiscard]] std::vector<std::uint32_t> ring_order(std::uint32_t ranks, const CollectiveShape& shape,
                                                    std::uint32_t channel);

struct RankTree {
  std::vector<std::uint32_t> parent;  // by rank; of the root: itself
  std::vector<std::uint32_t> order;   // parents before children; order[0] is the root
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> child_list;

  [[nodiscard]] std::span<const std::uint32_t> children(std::uint32_t rank) const {
    return std::span(child_list).subspan(offsets[rank], offsets[rank + 1] - offsets[rank]);
  }
};

// One of the two trees of a channel as in NCCL (Sanders, Speck, Traff: Two-tree algorithms for full bandwidth
// broadcast, reduction and scan, 2009): a binary tree over the nodes, where inner nodes of the first are leaves of the
// second, and within every node a chain from the rank that has the node's tree links. For a broadcast rank 0 is the
// root of both.
[[nodiscard]] RankTree rank_tree(std::uint32_t ranks, const CollectiveShape& shape, std::uint32_t channel, bool second);

class CollectivePlan {
 public:
  CollectivePlan(TransferGraph& graph, std::span<const NodeId> ranks, const CollectiveShape& shape,
                 std::span<const TransferId> after);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  // One transfer from each of `order` to the next, cyclically; ids in this order. Round s+1 of each follows round s of
  // its predecessor.
  std::vector<TransferId> ring(std::span<const std::uint32_t> order, Bytes bytes, std::uint32_t rounds);
  TransferId send(std::uint32_t from, std::uint32_t to, Bytes bytes);
  // The same; waits for those of `after` that `from` depends on.
  TransferId first_send(std::uint32_t from, std::uint32_t to, Bytes bytes);
  void depend(TransferId transfer, TransferId earlier) {  // kNone: no dependency
    if (earlier != model::kNone<TransferId>) graph_.depend(transfer, earlier);
  }

 private:
  void begin(TransferId transfer, std::uint32_t rank);

  TransferGraph& graph_;
  std::span<const NodeId> ranks_;
  const CollectiveShape& shape_;
  std::span<const TransferId> after_;
  std::vector<std::pair<NodeId, TransferId>> touched_;  // sorted: what each node sent or received of `after_`
};

}  // namespace weft::netsim
