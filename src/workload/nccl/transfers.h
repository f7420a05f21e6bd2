// A collective as NCCL would do it, as transfers for the network simulator. Rings and trees are those of
// netsim/traffic/collective.h, one for every NIC of a node: further channels of NCCL share a NIC and change nothing on
// the wire.
//
// Approximated: what a GPU does to bytes takes no time, and the protocol none of the wire (LL sends twice the bytes,
// LL128 1/15 more: they are added). NVLink SHARP sends from every GPU to its neighbor what it would send to the switch
// (bytes x (1 + 1/g), in one direction each), which is as long on the GPU's links; the switch's own work is not seen.
// NVLS tree is that, and along every rail a double tree over the nodes with 1/g of the bytes; both at once, as their
// chunks are in a pipeline. PAT goes in log2(n) rounds: round k sends 2^k parts (at most what is left) to the rank
// 2^k ahead, all ranks of a round at once. All-to-all goes by rails (PXN), the parts over NVLink at the same time as
// those over the NICs; its transfers are ranks x (nodes + ranks of a node - 2), those of all others a few to a rank.
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
  std::uint32_t nics = 0;  // of one node, that the ranks use; 0: one for every rank of a node
};

// `ranks` are in order, group.node_ranks consecutive ones share an NVLink domain. Gives the transfers whose ends
// together are the collective's; with fewer than two ranks, or nothing to send, what it was to come after.
std::vector<netsim::TransferId> add_nccl_collective(netsim::TransferGraph& graph, std::span<const netsim::NodeId> ranks,
                                                    const NcclChoice& choice, const NcclGroup& group,
                                                    netsim::Collective operation, Bytes bytes,
                                                    const NcclTransferOptions& options = {});

}  // namespace weft::workload
