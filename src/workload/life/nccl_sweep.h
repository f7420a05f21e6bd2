// A collective over a range of sizes on a cluster's servers, as nccl-tests would print it: NCCL's choice for each size,
// its time, and the slowdown of the fabric as built.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "model/cluster.h"
#include "workload/nccl/fabric_timer.h"

namespace weft::workload {

struct NcclSweepRequest {
  std::string pool;              // empty: the first pool with GPUs
  std::uint32_t ranks = 0;       // 0: all GPUs of the pool
  std::uint32_t node_ranks = 0;  // per server; 0: all
  netsim::Collective operation = netsim::Collective::all_reduce;
  Bytes least{8};
  Bytes most{std::int64_t{16} << 30};
  std::int64_t factor = 2;
  SimTime launch;  // of every call; 0 where calls follow each other at once, as in nccl-tests
  std::uint32_t version = kNcclVersion;
  FabricTimerOptions fabric;
  // As LifeOptions::faults; empty without faults.
  std::function<Status(netsim::Network&, netsim::SimOptions&)> faults;
};
struct NcclSweep {
  Document document;
  bool runs = true;  // false: no communicator can be created after the faults
};
// Returns an error for a pool without GPUs, or for more ranks than it has.
[[nodiscard]] Result<NcclSweep> nccl_sweep(const model::Cluster& cluster, const NcclSweepRequest& request);

}  // namespace weft::workload
