// Times communication with NCCL's cost model: every group alone on an idle network. Slowdowns from the network
// simulator, if any, are applied on top (see fabric_timer.h).
#pragma once

#include <map>

#include "workload/graph/op_graph.h"
#include "workload/nccl/nccl.h"

namespace weft::workload {

class NcclTimer : public CommunicationTimer {
 public:
  explicit NcclTimer(NcclMachine machine) : machine_(std::move(machine)) {}

  [[nodiscard]] SimTime collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) override;
  [[nodiscard]] SimTime message(Bytes bytes, const OpGroup& group) override;
  [[nodiscard]] NcclChoice choice(netsim::Collective operation, Bytes bytes, const OpGroup& group) const;
  [[nodiscard]] const NcclMachine& machine() const { return machine_; }

 private:
  NcclMachine machine_;
};

}  // namespace weft::workload
