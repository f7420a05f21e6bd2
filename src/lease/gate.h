// The check at the GPU itself: one gate for each engine on each server, asked at the very point where the engine would
// hand out a GPU (Slurm's Prolog, the Allocate call of a Kubernetes device plugin). It opens only under an epoch it has
// not been told to give up, and only for commands meant for its present start; so no message that was delayed on its
// way, from whatever agent, can open what was already released. It remembers nothing over a restart and needs to
// remember nothing: it starts closed, with the work that it finds running.
#pragma once

#include <string>

#include "lease/lease.h"

namespace weft::lease {

class LeaseGate {
 public:
  // `boot` must be greater at every start: a counter on disk, or the greater of that and the clock, for a disk may be
  // replaced. `running`: GPUs on which work of this engine was found; none after a loss of power.
  LeaseGate(LeaseOwner owner, sched::NodeId node, std::uint64_t boot, std::uint16_t running = 0);

  GateStatus receive(const GateCommand& command);  // the answer
  // Whether work may start on a GPU now; if so it counts as running until ended() says that none is left on it.
  [[nodiscard]] bool admit(int gpu);
  void ended(int gpu);
  // What is seen on the GPUs, whether or not it was admitted.
  void observe(std::uint16_t running, std::string note);

  [[nodiscard]] const GateStatus& status() const { return status_; }
  // Whether the engine may be using the GPU, or start to.
  [[nodiscard]] bool uses(int gpu) const;

 private:
  GateStatus status_;
};

}  // namespace weft::lease
