#include "netsim/flow/run.h"

namespace weft::netsim {

SimResult run_flow_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                          SimMonitor* monitor) {
  return FlowRun(routes, transfers, options, monitor).run();
}

}  // namespace weft::netsim
