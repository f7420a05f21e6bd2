// The machine that an imported workload runs on, and how its communication is timed: NCCL's cost model for machines
// that it covers. RingTimer is the simple alternative for all others: rings (all-to-all and messages: pairs) with a
// latency per step and a rate; no trees, NVLink multicast, congestion or hashing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/cluster.h"
#include "workload/graph/op_graph.h"
#include "workload/nccl/nccl.h"

namespace weft::workload {

// The machine of a workload: the GPU server model with the most GPUs in the cluster. Rates are per direction.
struct WorkloadMachine {
  std::string server;
  std::string gpu;
  std::uint32_t gpus = 0;       // of this model, in the whole cluster
  std::uint32_t node_gpus = 1;  // GPUs per NVLink domain; 1: no NVLink
  double nvlink = 0;            // bytes/s per GPU, from the datasheet; 0: none
  double nic = 0;               // bytes/s into the backend, per GPU
  double flops = 0;             // dense, bf16, 1/s
  double memory = 0;            // bytes/s
  double host_link = 0;         // bytes/s over PCIe to the host; 0: unknown
  std::optional<NcclMachine> nccl;
};
// Returns an error if there are no GPUs, or none on a backend.
[[nodiscard]] Result<WorkloadMachine> workload_machine(const model::Cluster& cluster);

[[nodiscard]] std::unique_ptr<CommunicationTimer> make_communication_timer(const WorkloadMachine& machine);

class RingTimer : public CommunicationTimer {
 public:
  explicit RingTimer(const WorkloadMachine& machine) : machine_(machine) {}
  [[nodiscard]] SimTime collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) override;
  [[nodiscard]] SimTime message(Bytes bytes, const OpGroup& group) override;

 private:
  struct Rates {
    double near = 0;  // bytes/s between GPUs of one domain; 0: no connection
    double far = 0;
  };
  [[nodiscard]] Rates rates() const;

  WorkloadMachine machine_;
};

}  // namespace weft::workload
