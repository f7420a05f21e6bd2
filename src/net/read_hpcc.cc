#include "net/read_simulators.h"

namespace weft::net {

std::optional<TransferGraph> read_hpcc_flows(const Sources&, FileId, const Network&, Diagnostics&) { return {}; }
std::optional<Network> read_hpcc_topology(const Sources&, FileId, Diagnostics&) { return {}; }

}  // namespace weft::net
