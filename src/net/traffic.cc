#include "net/traffic.h"

namespace weft::net {

void add_permutation(TransferGraph&, std::span<const NodeId>, const TrafficShape&) {}
void add_affine_permutation(TransferGraph&, std::span<const NodeId>, std::uint64_t, std::uint64_t,
                            const TrafficShape&) {}
void add_incast(TransferGraph&, std::span<const NodeId>, NodeId, const TrafficShape&) {}
void add_all_to_all(TransferGraph&, std::span<const NodeId>, std::uint32_t, const TrafficShape&) {}
void add_storage_reads(TransferGraph&, std::span<const NodeId>, std::span<const NodeId>, std::uint32_t,
                       const TrafficShape&) {}
void add_checkpoint(TransferGraph&, std::span<const NodeId>, std::span<const NodeId>, std::uint32_t,
                    const TrafficShape&) {}
void add_background(TransferGraph&, const Network&, std::span<const NodeId>, double, SimTime, const TrafficShape&) {}

}  // namespace weft::net
