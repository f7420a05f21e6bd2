#include "net/simulate.h"

namespace weft::net {

SimResult run_flow_engine(Routes&, const TransferGraph&, const SimOptions&, SimMonitor*) { return {}; }

}  // namespace weft::net
