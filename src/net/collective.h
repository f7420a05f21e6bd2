// Collectives as graphs of transfers: what NCCL would send, and nothing of how long a GPU takes to add numbers. Sizes
// follow nccl-tests: `bytes` is the whole buffer of a rank for all-reduce, broadcast and all-to-all, and the whole
// gathered (or scattered) buffer for all-gather and reduce-scatter.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "net/transfer.h"

namespace weft::net {

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };
enum class Algorithm : std::uint8_t { ring, tree, hierarchical };

struct CollectiveShape {
  Collective operation = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  Bytes bytes{64'000'000};
  std::uint32_t ranks_per_node = 8;  // hierarchical: ranks r*g .. r*g + g-1 share a node (and its scale-up switch)
  std::uint32_t channels = 1;        // rings or trees that share the bytes; ring c starts rotated by c within each node
  Bytes chunk{0};                    // tree: pipelined in chunks of this size; 0: 1/8 of the bytes, at least 64 KiB
  SimTime start;
  ClassIndex traffic_class = 0;
  std::uint8_t queue_pairs = 1;
  std::uint16_t tag = 0;
};

// Adds one collective over `ranks`; its transfers start after `after` (the last transfers of an earlier one) have
// ended. Gives the transfers whose ends together are its end.
std::vector<TransferId> add_collective(TransferGraph& graph, std::span<const NodeId> ranks,
                                       const CollectiveShape& shape, std::span<const TransferId> after = {});

// busbw = bytes / time x this (nccl-tests PERFORMANCE.md): 2(n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter and
// all-to-all; 1 broadcast and send-receive.
[[nodiscard]] double bus_factor(Collective operation, std::uint32_t ranks);

[[nodiscard]] std::string_view to_text(Collective operation);
[[nodiscard]] std::string_view to_text(Algorithm algorithm);

}  // namespace weft::net
