// Times communication with NCCL's cost model: every group alone on the wires. The network simulator's slowdowns, where
// there are any, are laid over it (see fabric_times.h).
#pragma once

#include <map>

#include "work/nccl.h"
#include "work/op_graph.h"

namespace weft::work {

class NcclTimer : public CommunicationTimer {
 public:
  explicit NcclTimer(NcclMachine machine) : machine_(std::move(machine)) {}

  [[nodiscard]] SimTime collective(net::Collective operation, Bytes bytes, const OpGroup& group) override;
  [[nodiscard]] SimTime message(Bytes bytes, const OpGroup& group) override;
  [[nodiscard]] NcclChoice choice(net::Collective operation, Bytes bytes, const OpGroup& group) const;
  [[nodiscard]] const NcclMachine& machine() const { return machine_; }

 private:
  NcclMachine machine_;
};

}  // namespace weft::work
