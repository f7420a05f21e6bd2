// The way in: one call for all three fidelities, with a monitor that is told how far the run is and may stop it.
#pragma once

#include <memory>

#include "netsim/sim/options.h"
#include "netsim/sim/result.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim {

struct SimProgress {
  SimTime now;
  std::uint64_t done = 0;   // bytes delivered
  std::uint64_t total = 0;  // bytes to deliver
  std::uint64_t events = 0;
};
class SimMonitor {
 public:
  virtual ~SimMonitor() = default;
  // Called every few thousand events, from the thread that called simulate(). False stops the run at this point.
  virtual bool on_progress(const SimProgress& progress) = 0;
};

// Runs `transfers` (finished) on `routes.network()`. Gives an error for options that make no sense and for transfers
// without a way; everything that happens during a run, deadlock included, is a result.
[[nodiscard]] Result<SimResult> simulate(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                         SimMonitor* monitor = nullptr);

// The engines behind it; options are valid and every transfer has a way.
[[nodiscard]] SimResult run_packet_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                          SimMonitor* monitor);
[[nodiscard]] SimResult run_flow_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                        SimMonitor* monitor);
[[nodiscard]] SimResult run_analytic_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                            SimMonitor* monitor);

}  // namespace weft::netsim
