// Connections of a communicator between servers: rings and the double binary tree, per channel.
#include <algorithm>

#include "workload/nccl/nccl.h"

namespace weft::workload {

// Two channels per NIC that is local to ranks of the group (16 on a server of 8 NICs, as NCCL's logs show), spread over
// the ranks. A channel's ring enters and leaves once: two connections. In a double binary tree (Sanders, Speck, Traeff
// 2009) a server is an inner node of one tree (a parent, two children) and a leaf of the other (a parent); odd and even
// channels alternate. A connection between servers has a queue pair per direction (NCCL_IB_QPS_PER_CONNECTION is 1).
// For a rank of one node of 8 that is 2 channels x 2 = 4 queue pairs for the rings alone, the "about 4" that Meta
// counts for all-reduce at 128 GPUs (Gangidi et al., SIGCOMM 2024).
NcclConnections nccl_connections(const NcclMachine& machine, const NcclGroup& group) {
  NcclConnections connections;
  const std::uint32_t local = std::max(1U, std::min(group.node_ranks, group.ranks));
  const std::uint32_t nodes = std::max(1U, group.ranks / local);
  // Ring neighbors inside the server: NVLink needs no queue pairs.
  const std::uint32_t inside = std::min(local - 1, 2U);
  if (nodes == 1) {
    connections.peers = inside;
    return connections;
  }
  const std::uint32_t nics = std::max(1U, std::min(machine.nics, local));
  const std::uint32_t channels = (2 * nics + local - 1) / local;
  const std::uint32_t interior = std::min(3U, nodes - 1);
  const std::uint32_t in_first = (channels + 1) / 2;  // channels in which the rank's server is an inner tree node
  const std::uint32_t trees = in_first * interior + (channels - in_first);
  connections.queue_pairs = channels * 2 + 2 * trees;
  // Ring neighbors and tree neighbors are different servers once there are enough of them.
  connections.peers = inside + std::min(nodes - 1, 2 + interior + 1);
  return connections;
}

}  // namespace weft::workload
