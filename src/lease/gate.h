// Lease gate: admission check at the GPU, one gate per engine and server, called where the engine hands out a GPU
// (Slurm's Prolog, the Allocate call of a Kubernetes device plugin). It opens only under an epoch that it has not been
// ordered to close, and only for commands addressed to its current boot, so a delayed message from any agent cannot
// reopen a released GPU. It needs no state across restarts: it starts closed, with the work that it finds running.
#pragma once

#include <string>

#include "lease/lease.h"

namespace weft::lease {

class LeaseGate {
 public:
  // `boot` must be greater at every start: a counter on disk, or the maximum of that and the clock, since a disk may be
  // replaced. `running`: GPUs on which work of this engine was found; none after a power loss.
  LeaseGate(LeaseOwner owner, sched::NodeId node, std::uint64_t boot, std::uint16_t running = 0);

  GateStatus receive(const GateCommand& command);  // the reply
  // Whether work may start on a GPU now; if so, the GPU counts as running until ended() reports it idle.
  [[nodiscard]] bool admit(int gpu);
  void ended(int gpu);
  // Reports the work found on the GPUs, admitted or not.
  void observe(std::uint16_t running, std::string note);

  [[nodiscard]] const GateStatus& status() const { return status_; }
  // Whether the engine may be using the GPU, or may start to.
  [[nodiscard]] bool uses(int gpu) const;

 private:
  GateStatus status_;
};

}  // namespace weft::lease
