#include "net/simulate.h"

namespace weft::net {

SimResult run_packet_engine(Routes&, const TransferGraph&, const SimOptions&, SimMonitor*) { return {}; }

}  // namespace weft::net
