// Entry point: one call for all three fidelities, with a monitor that receives progress and can stop the run.
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

// Runs `transfers` (finished) on `routes.network()`. Returns an error for invalid options and for transfers without a
// path; all events during a run, deadlock included, are part of the result.
[[nodiscard]] Result<SimResult> simulate(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                         SimMonitor* monitor = nullptr);

// The engines behind simulate(); options are valid and every transfer has a path.
[[nodiscard]] SimResult run_packet_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                          SimMonitor* monitor);
[[nodiscard]] SimResult run_flow_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                        SimMonitor* monitor);
[[nodiscard]] SimResult run_analytic_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                                            SimMonitor* monitor);

}  // namespace weft::netsim
