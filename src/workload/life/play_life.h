// Simulates a job on a compiled cluster: submit, bootstrap, and an iteration with its reads, its collectives and its
// checkpoint, at the requested fidelity; then finds the bottleneck and what changes would gain.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "netsim/network/network.h"
#include "netsim/routing/routing.h"
#include "netsim/sim/options.h"
#include "workload/gpu/rates.h"
#include "workload/nccl/fabric_timer.h"
#include "workload/result/life.h"
#include "workload/storage/io.h"
#include "workload/training/step_model.h"

namespace weft::workload {

// What to do with a job that may not fit into GPU memory: warn if the estimate exceeds it and refuse what exceeds it in
// any case, refuse both, or only note it.
enum class MemoryCheck { warn, refuse, ignore };

struct LifeOptions {
  netsim::Fidelity fidelity = netsim::Fidelity::analytic;
  netsim::SimOptions simulation;  // its fidelity is overwritten by the one above
  netsim::RoutingOptions routing;
  std::uint8_t queue_pairs = 1;
  MemoryCheck memory = MemoryCheck::warn;
  bool tcp = false;  // sockets instead of RDMA on backend and storage
  std::uint64_t seed = 1;
  std::uint64_t iterations = 1'000;  // for the tail
  bool what_ifs = true;
  bool timeline = true;
  bool heat_maps = true;
  double image_cached = 0;  // share of the servers that have the image
  // Servers of the job's pool to run on, in rank order, as many as the job has nodes. Empty: the first servers of the
  // pool.
  std::vector<model::DeviceId> hosts;
  // From simulations of jobs on the same servers of the same cluster, with the same options; empty: none yet.
  std::shared_ptr<FabricMemory> fabric;
  std::shared_ptr<StorageMemory> storage;
  // Adds faults to the simulation once the network is known, and slows links of the network; empty without faults.
  std::function<Status(netsim::Network&, netsim::SimOptions&)> faults;
  // Progress callback; may be empty.
  std::function<void(const std::string&)> progress;
};

// `job` is resolved against the cluster and has a training section. Reports problems at their source location.
[[nodiscard]] std::optional<LifeResult> play_life(const model::Cluster& cluster, const model::JobSpec& job,
                                                  const LifeOptions& options, Diagnostics& diagnostics);

// The server that a job runs on, in the form that NCCL's cost model needs.
[[nodiscard]] NcclMachine machine_of(const model::Cluster& cluster, const model::ServerModel& server);

}  // namespace weft::workload
