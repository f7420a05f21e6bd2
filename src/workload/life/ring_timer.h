// What an ingested workload runs on, and how its communication is timed there: NCCL's cost model where the machine is
// known to it. RingTimer is the plain alternative for any other: rings (all-to-all and messages: pairs) with a latency
// for every step and a rate; nothing of trees, NVLink multicast, congestion or hashing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/cluster.h"
#include "workload/graph/op_graph.h"
#include "workload/nccl/nccl.h"

namespace weft::workload {

// What a workload runs on: the kind of GPU server that the cluster has most GPUs of. Rates are of one direction.
struct WorkloadMachine {
  std::string server;
  std::string gpu;
  std::uint32_t gpus = 0;       // of this kind, in the whole cluster
  std::uint32_t node_gpus = 1;  // GPUs of an NVLink domain; 1: none
  double nvlink = 0;            // bytes/s of one GPU, as the datasheet says; 0: none
  double nic = 0;               // bytes/s into the backend, a GPU's share
  double flops = 0;             // dense, bf16, 1/s
  double memory = 0;            // bytes/s
  double host_link = 0;         // bytes/s over PCIe to the host; 0: unknown
  std::optional<NcclMachine> nccl;
};
// An error where there is no GPU, or none on a backend.
[[nodiscard]] Result<WorkloadMachine> workload_machine(const model::Cluster& cluster);

[[nodiscard]] std::unique_ptr<CommunicationTimer> make_communication_timer(const WorkloadMachine& machine);

class RingTimer : public CommunicationTimer {
 public:
  explicit RingTimer(const WorkloadMachine& machine) : machine_(machine) {}
  [[nodiscard]] SimTime collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) override;
  [[nodiscard]] SimTime message(Bytes bytes, const OpGroup& group) override;

 private:
  struct Rates {
    double near = 0;  // bytes/s between GPUs of one domain; 0: no way
    double far = 0;
  };
  [[nodiscard]] Rates rates() const;

  WorkloadMachine machine_;
};

}  // namespace weft::workload
