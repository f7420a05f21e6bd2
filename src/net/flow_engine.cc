#include "net/flow_run.h"

namespace weft::net {

SimResult run_flow_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                          SimMonitor* monitor) {
  return FlowRun(routes, transfers, options, monitor).run();
}

}  // namespace weft::net
