// Plays the life of a job on a compiled cluster: submit, bootstrap, and an iteration with its reads, its collectives
// and its checkpoint, at the fidelity asked for; then what bounds it, and what changes would buy.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "net/network.h"
#include "net/options.h"
#include "net/routing.h"
#include "work/fabric_timer.h"
#include "work/gpu_rates.h"
#include "work/life.h"
#include "work/step_model.h"
#include "work/storage_io.h"

namespace weft::work {

struct LifeOptions {
  net::Fidelity fidelity = net::Fidelity::analytic;
  net::SimOptions simulation;  // its fidelity is set by the one above
  net::RoutingOptions routing;
  std::uint8_t queue_pairs = 1;
  bool tcp = false;  // sockets instead of RDMA on backend and storage
  std::uint64_t seed = 1;
  std::uint64_t iterations = 1'000;  // of the tail
  bool what_ifs = true;
  bool timeline = true;
  bool heat_maps = true;
  double image_cached = 0;  // share of the servers that hold the image
  // Servers of the job's pool to run on, in rank order, as many as the job has nodes. Empty: the first of the pool.
  std::vector<DeviceId> hosts;
  // Links that break during the simulation, once the network is known; may be empty.
  std::function<Status(const net::Network&, net::SimOptions&)> faults;
  // Told what is being done now, for people who wait; may be empty.
  std::function<void(const std::string&)> progress;
};

// `job` is resolved against the cluster and has a training section. Reports what is wrong with it at its place.
[[nodiscard]] std::optional<LifeResult> play_life(const Cluster& cluster, const JobSpec& job,
                                                  const LifeOptions& options, Diagnostics& diagnostics);

// The server that a job runs on, as NCCL's cost model wants it.
[[nodiscard]] NcclMachine machine_of(const Cluster& cluster, const ServerModel& server);

}  // namespace weft::work
