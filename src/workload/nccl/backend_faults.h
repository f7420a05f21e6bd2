// Faults of the backend as a job meets them: links that fail, come back, lose packets or run below their rate. Says
// what becomes of a running job (RDMA retries until a port or a path is back, or gives up and NCCL aborts) and what a
// restart on the same servers finds: NCCL leaves out ports that are down, and their GPUs use the NIC of another GPU.
//
// Not here: the time of a collective afterwards (fabric_timer.h), and repair.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "netsim/network/network.h"
#include "netsim/sim/options.h"
#include "workload/result/fault_outcome.h"

namespace weft::workload {

// A queue pair gives up after `retries` times of 4.096 us x 2^timeout (InfiniBand specification, 9.7.6.1.3).
struct RdmaTimeout {
  SimTime retry = netsim::picoseconds(4'096'000) * (std::int64_t{1} << 20U);
  std::int64_t retries = 7;
  [[nodiscard]] SimTime total() const { return retry * retries; }
};
// From NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT; NCCL's defaults (20 and 7 since 2.23) where they are absent or invalid.
[[nodiscard]] RdmaTimeout rdma_timeout(const std::map<std::string, std::string>& environment);

struct LinkOutage {
  netsim::LinkId link = model::kNone<netsim::LinkId>;  // one direction stands for the cable
  SimTime from;
  SimTime until = netsim::kNever;
};

struct BackendFaults {
  netsim::Network network;                  // with slow links at their rate
  std::vector<LinkOutage> outages;          // in order of their start
  std::vector<netsim::LinkEvent> impaired;  // links that lose packets or have a smaller MTU, from the start
  std::vector<netsim::PauseStorm> storms;
  std::vector<netsim::LinkId> slowed;
  Bytes payload{4096};                                     // of a full packet
  [[nodiscard]] std::vector<netsim::LinkId> down() const;  // those that stay down
};
// `events` are in order of time, as read from the command line; `built` is the network before links were slowed.
[[nodiscard]] BackendFaults faults_from(const netsim::Network& built, netsim::Network network,
                                        const netsim::SimOptions& events);

// How NCCL uses the ports that are left, by rank of the job.
struct PortsLeft {
  std::vector<bool> lost;                // the rank's own port is down
  std::vector<netsim::NodeId> endpoint;  // whose NIC the rank uses
};

struct FaultVerdict {
  FaultOutcome outcome;
  PortsLeft ports;
};
// `ranks` are the job's endpoints in rank order, `per_server` of them on each server. `sockets`: TCP instead of RDMA.
[[nodiscard]] FaultVerdict judge_faults(const BackendFaults& faults, const std::vector<netsim::NodeId>& ranks,
                                        std::uint32_t per_server, const netsim::RoutingOptions& routing,
                                        const RdmaTimeout& timeout, bool sockets);

}  // namespace weft::workload
