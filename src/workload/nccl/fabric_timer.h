// Times communication on the cluster's backend as built: NCCL's cost model for one group alone, times the slowdown that
// the network simulator finds when all groups of the kind communicate at once, as they do in a step: congestion,
// oversubscription, hashing. Every kind of call is simulated once, on a bounded number of bytes.
//
// With faults, a call is also simulated on the backend that a job meets after them: routes have converged, and GPUs
// without a port use another's. A fault never makes a call faster: that a new hash happens to collide less is chance.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netsim/network/network.h"
#include "netsim/routing/routing.h"
#include "netsim/sim/options.h"
#include "netsim/sim/simulate.h"
#include "workload/nccl/backend_faults.h"
#include "workload/nccl/timer.h"

namespace weft::workload {

// Slowdowns that were simulated, for jobs on the same servers of the same cluster with the same options: changed jobs
// often use the same groups.
struct FabricMemory {
  struct Key {
    netsim::Collective operation;
    std::int64_t bytes;
    std::uint32_t ranks;
    std::uint32_t stride;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, double> healthy;
  std::map<Key, double> faulty;
};

struct FabricTimerOptions {
  netsim::Fidelity fidelity = netsim::Fidelity::analytic;
  netsim::SimOptions simulation;
  netsim::RoutingOptions routing;
  std::uint8_t queue_pairs = 1;
  bool tcp = false;                                  // sockets instead of RDMA
  std::shared_ptr<FabricMemory> memory;              // empty: the timer's own
  std::function<void(const std::string&)> progress;  // called with the call that is simulated; may be empty
};

// Effect of the fabric on one kind of call.
struct FabricFinding {
  std::string what;     // group and collective
  double slowdown = 1;  // relative to one group alone
  Bytes simulated;      // per call
  std::uint64_t transfers = 0;
  netsim::SimResult result;  // links, for heat maps
};

class FabricTimer : public CommunicationTimer {
 public:
  // `ranks` are the job's endpoints in rank order. Both networks must outlive the timer. At fidelity analytic only
  // `oversubscription` (down : up of the leaves, at least 1) is used, for groups that span several units of servers.
  FabricTimer(NcclMachine machine, FabricTimerOptions options, double oversubscription, std::uint32_t unit_ranks);
  void use_network(const netsim::Network& network, std::vector<netsim::NodeId> ranks);
  // `faults` must outlive the timer.
  void use_faults(const BackendFaults& faults, PortsLeft ports);
  // Calls before and after the faults; after, once use_faults() was called.
  void show_faults(bool shown) { shows_faults_ = shown; }

  [[nodiscard]] SimTime collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) override;
  [[nodiscard]] SimTime message(Bytes bytes, const OpGroup& group) override;

  [[nodiscard]] NcclChoice choice(netsim::Collective operation, Bytes bytes, const OpGroup& group) const {
    return alone_.choice(operation, bytes, group);
  }
  [[nodiscard]] double slowdown(netsim::Collective operation, Bytes bytes, const OpGroup& group);
  [[nodiscard]] const std::vector<FabricFinding>& findings() const { return findings_; }
  // The first problem that a simulation reported; the slowdown is then 1. A call that never ends is one.
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  // All groups of the kind on a backend: how its time grows with the bytes, and how it would if only the endpoints
  // limited it; latency, which NCCL's model includes already, cancels out in the difference.
  struct Growth {
    double seconds = 0;
    double ends = 0;
    netsim::SimResult result;
    std::uint64_t transfers = 0;
  };
  struct Run {
    double ends = 0;
    netsim::SimResult result;
    std::uint64_t transfers = 0;
  };
  double simulate(netsim::Collective operation, Bytes bytes, const OpGroup& group);
  double with_faults(netsim::Collective operation, Bytes bytes, const OpGroup& group, double healthy);
  // Of `size` bytes per call, by the algorithm for calls of `bytes`.
  Result<Growth> growth(netsim::Collective operation, Bytes bytes, Bytes size, const OpGroup& group, bool faulty,
                        netsim::Fidelity fidelity);
  Result<Run> run(netsim::Collective operation, Bytes bytes, const OpGroup& group, const NcclChoice& choice,
                  bool faulty, netsim::Fidelity fidelity);
  void add_group(netsim::TransferGraph& graph, const std::vector<std::size_t>& members, const NcclChoice& choice,
                 const OpGroup& group, netsim::Collective operation, Bytes bytes, bool faulty) const;
  [[nodiscard]] bool share_nvlink(netsim::NodeId a, netsim::NodeId b) const;
  [[nodiscard]] double end_time(const netsim::TransferGraph& graph) const;       // seconds
  [[nodiscard]] Bytes simulated_bytes(Bytes bytes, const OpGroup& group) const;  // per call
  double closed_form(netsim::Collective operation, const OpGroup& group) const;
  [[nodiscard]] double socket_factor() const;  // simulations include it already
  [[nodiscard]] SimTime slowed(const NcclChoice& choice, double slowdown) const;

  NcclTimer alone_;
  FabricTimerOptions options_;
  double oversubscription_ = 1;
  std::uint32_t unit_ranks_ = 1;
  const netsim::Network* network_ = nullptr;
  std::vector<netsim::NodeId> ranks_;
  std::optional<netsim::Routes> routes_;
  const BackendFaults* faults_ = nullptr;
  PortsLeft ports_;
  std::optional<netsim::Routes> faulty_routes_;
  bool shows_faults_ = true;
  std::shared_ptr<FabricMemory> known_;
  std::vector<FabricFinding> findings_;
  std::optional<Error> problem_;
};

}  // namespace weft::workload
