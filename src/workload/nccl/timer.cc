#include "workload/nccl/timer.h"

namespace weft::workload {

NcclChoice NcclTimer::choice(netsim::Collective operation, Bytes bytes, const OpGroup& group) const {
  NcclGroup ranks;
  ranks.ranks = group.ranks;
  ranks.node_ranks = group.node_ranks;
  return nccl_choose(machine_, operation, bytes, ranks);
}

SimTime NcclTimer::collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) {
  return group.ranks < 2 ? SimTime(0) : choice(operation, bytes, group).time;
}

SimTime NcclTimer::message(Bytes bytes, const OpGroup& group) {
  if (group.ranks < 2) return SimTime(0);
  // A message goes to a neighbor: over NVLink if the group has another rank on the server, else over a NIC.
  OpGroup pair = group;
  pair.ranks = 2;
  pair.node_ranks = group.node_ranks > 1 ? 2 : 1;
  return choice(netsim::Collective::send_recv, bytes, pair).time;
}

}  // namespace weft::workload
