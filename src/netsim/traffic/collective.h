// Collectives as graphs of transfers: what NCCL would send, and nothing of how long a GPU takes to add numbers. Sizes
// follow nccl-tests: `bytes` is the whole buffer of a rank for all-reduce, broadcast and all-to-all, and the whole
// gathered (or scattered) buffer for all-gather and reduce-scatter. Where bytes do not divide by ranks or channels the
// parts are rounded up: never fewer bytes are sent than the collective needs.
//
// A transfer starts when the data it forwards has arrived at its sender, and there is no barrier between the phases.
// Rank 0 is the root of a broadcast. All-to-all goes in pairwise steps: in step k rank r sends to r+k and receives from
// r-k, and goes on when both have ended. Send-receive is rank r to r+1 and the last to the first.
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
  // Ring: odd nodes are visited backwards, so that a ring stays on one rail from node to node (NCCL_CROSS_NIC=2). The
  // way back to node 0 still changes rail when the number of nodes is odd.
  bool same_rail = false;
  // Tree and broadcast: pipelined in chunks of this size, at most 4,096 of them; on an edge the next is sent when the
  // last has arrived. 0: 1/8 of the bytes of a tree (ring broadcast: 1/ranks where that is less, for its pipeline is so
  // long), at least 64 KiB.
  Bytes chunk{0};
  SimTime start;
  ClassIndex traffic_class = 0;
  std::uint8_t queue_pairs = 1;
  std::uint16_t tag = 0;
};

// What is really done: tree exists for all-reduce and broadcast; hierarchical for all-reduce, all-gather and
// reduce-scatter where the ranks fill whole nodes; everything else is a ring (all-to-all and send-receive: pairs).
[[nodiscard]] Algorithm algorithm_used(const CollectiveShape& shape, std::size_t ranks);
// How many transfers add_collective would add; saturating. More than kMaxTransfers is a mistake of the caller.
[[nodiscard]] std::uint64_t transfer_count(const CollectiveShape& shape, std::size_t ranks);

// Adds one collective over `ranks` (distinct endpoints), after those of an earlier one: a rank begins when all of
// `after` that it sent or received have ended, and a rank that none of them touches when all have. Gives the transfers
// whose ends together are its end; with fewer than two ranks that is `after` itself.
std::vector<TransferId> add_collective(TransferGraph& graph, std::span<const NodeId> ranks,
                                       const CollectiveShape& shape, std::span<const TransferId> after = {});

// busbw = bytes / time x this (nccl-tests PERFORMANCE.md): 2(n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter and
// all-to-all; 1 broadcast and send-receive.
[[nodiscard]] double bus_factor(Collective operation, std::uint32_t ranks);

[[nodiscard]] std::string_view to_text(Collective operation);
[[nodiscard]] std::string_view to_text(Algorithm algorithm);

}  // namespace weft::netsim
