// From submit to the first collective: API server, etcd, scheduler, image pull, device plugin, container start; then
// NCCL's bootstrap (TCP rendezvous on the frontend, queue pairs on the backend). Events are in order with their
// protocol and network, each with a time from a stated rule; costs scale with nodes and ranks as published.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "workload/nccl/nccl.h"
#include "workload/result/life.h"

namespace weft::workload {

struct ControlOptions {
  Bytes image{10'000'000'000};  // compressed; nvcr.io/nvidia/pytorch is about 10 GB
  double cached = 0;            // share of the servers that have the image already (pre-pulled)
  std::uint64_t seed = 1;
};

// Communicators that the job creates, largest first: world, tensor, pipeline, data, ...
struct BootstrapGroup {
  std::string name;
  NcclGroup group;
  std::uint32_t count = 1;  // communicators of this kind in the job; each rank belongs to one of them
};

// State 1. Starts at time 0.
[[nodiscard]] LifeState submit_state(const model::Cluster& cluster, const model::JobSpec& job,
                                     const std::vector<model::DeviceId>& hosts, const ControlOptions& options);
// State 2. Starts when state 1 ends; events are relative to the job's start.
[[nodiscard]] LifeState bootstrap_state(const model::Cluster& cluster, const model::JobSpec& job,
                                        const std::vector<model::DeviceId>& hosts, const NcclMachine& machine,
                                        const std::vector<BootstrapGroup>& groups, SimTime start);

}  // namespace weft::workload
