// Traffic generators: common patterns as graphs of transfers between endpoints in rank order. A pair on the same node
// is left out: it does not cross the network. Independent of the engines.
#pragma once

#include <cstdint>
#include <span>

#include "netsim/traffic/transfer.h"

namespace weft::netsim {

// Maximum that a generator adds in one call (2 GB of transfers); the count functions below return it in advance.
inline constexpr std::uint64_t kMaxTransfers = 50'000'000;

// `bytes` (at least 1) divided by `parts`, rounded up.
constexpr Bytes divide_up(Bytes bytes, std::int64_t parts) { return Bytes((bytes.count() - 1) / parts + 1); }

struct TrafficShape {
  Bytes bytes{10'000'000};  // of each transfer, unless the pattern overrides it; at least 1
  SimTime start;
  ClassIndex traffic_class = 0;
  std::uint8_t queue_pairs = 1;
  std::uint16_t tag = 0;
  std::uint64_t seed = 1;
};

// Random permutation without fixed points: every endpoint sends to one and receives from one. Fisher-Yates, from the
// last down, on splitmix64(seed) modulo the number left; then each fixed point is swapped with the next index.
void add_permutation(TransferGraph& graph, std::span<const NodeId> ranks, const TrafficShape& shape);
// destination = (factor x source + shift) mod N: the reproducible permutation of the benchmark workloads. Fixed points
// send nothing; it is a permutation only if factor and N are coprime.
void add_affine_permutation(TransferGraph& graph, std::span<const NodeId> ranks, std::uint64_t factor,
                            std::uint64_t shift, const TrafficShape& shape);
// All `sources` to `target` at once; `target` is excluded from the sources.
void add_incast(TransferGraph& graph, std::span<const NodeId> sources, NodeId target, const TrafficShape& shape);
// Every pair, `bytes` to each peer; rank r starts with r+1 to avoid an incast. `in_flight` peers at a time: the send to
// peer k waits for the end of the one to peer k - in_flight; 0 for all at once. CHECKs that all_to_all_count() is
// within kMaxTransfers.
void add_all_to_all(TransferGraph& graph, std::span<const NodeId> ranks, std::uint32_t in_flight,
                    const TrafficShape& shape);
[[nodiscard]] std::uint64_t all_to_all_count(std::size_t ranks);
// Clients read from (or checkpoint to) storage targets: `bytes` per client, in `stripes` transfers (0 counts as 1) of
// bytes / stripes, rounded up; stripe s of client c is on target (c x stripes + s) mod targets.
void add_storage_reads(TransferGraph& graph, std::span<const NodeId> clients, std::span<const NodeId> targets,
                       std::uint32_t stripes, const TrafficShape& shape);
void add_checkpoint(TransferGraph& graph, std::span<const NodeId> clients, std::span<const NodeId> targets,
                    std::uint32_t stripes, const TrafficShape& shape);
// Poisson arrivals between random pairs at `load` (0..1) of the endpoints' own link rate, from shape.start until
// `until`. The link rate is that of all links of an endpoint except those to scale-up switches. Each endpoint has its
// own random stream and stops after kMaxTransfers / ranks transfers even before `until`: background_count() returns the
// number to expect.
void add_background(TransferGraph& graph, const Network& network, std::span<const NodeId> ranks, double load,
                    SimTime until, const TrafficShape& shape);
[[nodiscard]] double background_count(const Network& network, std::span<const NodeId> ranks, double load, SimTime until,
                                      const TrafficShape& shape);

}  // namespace weft::netsim
