#include "net/read_simulators.h"

namespace weft::net {

std::optional<TransferGraph> read_htsim_matrix(const Sources&, FileId, const Network&, Diagnostics&) { return {}; }
std::optional<Network> read_htsim_topology(const Sources&, FileId, Diagnostics&) { return {}; }

}  // namespace weft::net
