// Makers of traffic: the patterns people ask about, as graphs of transfers between endpoints given in rank order.
#pragma once

#include <cstdint>
#include <span>

#include "net/transfer.h"

namespace weft::net {

struct TrafficShape {
  Bytes bytes{10'000'000};  // of each transfer, unless the pattern says otherwise
  SimTime start;
  ClassIndex traffic_class = 0;
  std::uint8_t queue_pairs = 1;
  std::uint64_t seed = 1;
};

// Random permutation without fixed points: every endpoint sends to one and receives from one.
void add_permutation(TransferGraph& graph, std::span<const NodeId> ranks, const TrafficShape& shape);
// destination = (factor x source + shift) mod N: the reproducible permutation of the benchmark workloads.
void add_affine_permutation(TransferGraph& graph, std::span<const NodeId> ranks, std::uint64_t factor,
                            std::uint64_t shift, const TrafficShape& shape);
// All `sources` to `target` at once; `target` is left out of the sources.
void add_incast(TransferGraph& graph, std::span<const NodeId> sources, NodeId target, const TrafficShape& shape);
// Every pair, bytes to each peer; rank r starts with r+1 so that nobody is hit by all at once, or all at t=0 when not
// staggered. `in_flight` peers at a time, 0 for all.
void add_all_to_all(TransferGraph& graph, std::span<const NodeId> ranks, std::uint32_t in_flight,
                    const TrafficShape& shape);
// Clients read from (or checkpoint to) storage targets, spread round robin in stripes.
void add_storage_reads(TransferGraph& graph, std::span<const NodeId> clients, std::span<const NodeId> targets,
                       std::uint32_t stripes, const TrafficShape& shape);
void add_checkpoint(TransferGraph& graph, std::span<const NodeId> clients, std::span<const NodeId> targets,
                    std::uint32_t stripes, const TrafficShape& shape);
// Poisson arrivals between random pairs at `load` (0..1) of the endpoints' own link rate until `until`.
void add_background(TransferGraph& graph, const Network& network, std::span<const NodeId> ranks, double load,
                    SimTime until, const TrafficShape& shape);

}  // namespace weft::net
