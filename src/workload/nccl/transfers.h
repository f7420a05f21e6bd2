// An NCCL collective as transfers for the network simulator. Rings and trees are those of netsim/traffic/collective.h,
// one per NIC of a node: further channels of NCCL share a NIC and do not change the traffic.
//
// Approximations: processing on the GPU takes no time; protocol overhead is added to the bytes (LL sends twice the
// bytes, LL128 1/15 more). With NVLink SHARP every GPU sends to its neighbor what it would send to the switch (bytes x
// (1 + 1/g), in one direction each), which takes as long on the GPU's links; the switch itself is not modeled. NVLS
// tree is that, plus a double tree over the nodes along every rail with 1/g of the bytes; both at once, as their chunks
// are pipelined. PAT takes log2(n) rounds: round k sends 2^k parts (at most what is left) to the rank 2^k ahead, all
// ranks of a round at once. All-to-all uses rails (PXN), the parts over NVLink at the same time as those over the NICs;
// it has ranks x (nodes + ranks per node - 2) transfers, all others a few per rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "netsim/traffic/transfer.h"
#include "workload/nccl/nccl.h"

namespace weft::workload {

struct NcclTransferOptions {
  SimTime start;
  std::span<const netsim::TransferId> after;  // as in netsim::add_collective
  netsim::ClassIndex traffic_class = 0;
  std::uint8_t queue_pairs = 1;
  std::uint16_t tag = 0;
  std::uint32_t nics = 0;  // only the first so many ranks of a node have one; 0: all
};

// `ranks` are in order, group.node_ranks consecutive ones share an NVLink domain. Returns the transfers that end the
// collective; with fewer than two ranks, or nothing to send, returns options.after.
std::vector<netsim::TransferId> add_nccl_collective(netsim::TransferGraph& graph, std::span<const netsim::NodeId> ranks,
                                                    const NcclChoice& choice, const NcclGroup& group,
                                                    netsim::Collective operation, Bytes bytes,
                                                    const NcclTransferOptions& options = {});

}  // namespace weft::workload
