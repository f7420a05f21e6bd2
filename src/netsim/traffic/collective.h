// Collectives as graphs of transfers: what NCCL would send, without the time GPUs take to reduce. Sizes follow
// nccl-tests: `bytes` is the whole buffer of a rank for all-reduce, broadcast and all-to-all, and the whole gathered
// (or scattered) buffer for all-gather and reduce-scatter. If bytes do not divide by ranks or channels the parts are
// rounded up: never fewer bytes are sent than the collective needs.
//
// A transfer starts when the data it forwards has arrived at its sender; there is no barrier between the phases. Rank 0
// is the root of a broadcast. All-to-all runs in pairwise steps: in step k rank r sends to r+k and receives from r-k,
// and continues when both have ended. Send-receive is rank r to r+1 and the last to the first.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "netsim/traffic/traffic.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim {

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };
enum class Algorithm : std::uint8_t { ring, tree, hierarchical };

struct CollectiveShape {
  Collective operation = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  Bytes bytes{64'000'000};
  std::uint32_t ranks_per_node = 8;  // ranks r*g .. r*g + g-1 share a node (and its scale-up switch)
  std::uint32_t channels = 1;        // rings or trees that share the bytes; ring c starts rotated by c within each node
  std::uint32_t rails = 0;           // only the first so many ranks of a node connect to other nodes; 0: all
  // Ring: odd nodes are traversed backwards, so a ring stays on one rail from node to node (NCCL_CROSS_NIC=2). The
  // return to node 0 still changes rail if the number of nodes is odd.
  bool same_rail = false;
  // Tree and broadcast: pipelined in chunks of this size, at most 4,096 of them; on an edge the next is sent when the
  // previous one has arrived. 0: 1/8 of the bytes of a tree (ring broadcast: 1/ranks if that is less, because its
  // pipeline is that long), at least 64 KiB.
  Bytes chunk{0};
  SimTime start;
  ClassIndex traffic_class = 0;
  std::uint8_t queue_pairs = 1;
  std::uint16_t tag = 0;
};

// The algorithm actually used: tree exists for all-reduce and broadcast; hierarchical for all-reduce, all-gather and
// reduce-scatter if the ranks fill whole nodes; everything else is a ring (all-to-all and send-receive: pairs).
[[nodiscard]] Algorithm algorithm_used(const CollectiveShape& shape, std::size_t ranks);
// Number of transfers that add_collective would add; saturating. More than kMaxTransfers is an error of the caller.
[[nodiscard]] std::uint64_t transfer_count(const CollectiveShape& shape, std::size_t ranks);

// Adds one collective over `ranks` (distinct endpoints) that depends on an earlier one: a rank begins when all of
// `after` that it sent or received have ended, and a rank without any of them when all have ended. Returns the
// transfers whose ends together are its end; with fewer than two ranks that is `after` itself.
std::vector<TransferId> add_collective(TransferGraph& graph, std::span<const NodeId> ranks,
                                       const CollectiveShape& shape, std::span<const TransferId> after = {});

// busbw = bytes / time x this (nccl-tests PERFORMANCE.md): 2(n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter and
// all-to-all; 1 broadcast and send-receive.
[[nodiscard]] double bus_factor(Collective operation, std::uint32_t ranks);

[[nodiscard]] std::string_view to_text(Collective operation);
[[nodiscard]] std::string_view to_text(Algorithm algorithm);

}  // namespace weft::netsim
