// Detects which of the formats in readers/read_simulators.h a file has: by its extension (.flows, .cm, .topo), else by
// its first line. For commands that accept a path.
#pragma once

#include <optional>

#include "netsim/readers/read_simulators.h"

namespace weft::netsim {

enum class FlowFormat : std::uint8_t { neutral, htsim, hpcc };
enum class TopologyFormat : std::uint8_t { htsim, hpcc };

[[nodiscard]] std::optional<FlowFormat> flow_format(const Sources& sources, FileId file);
[[nodiscard]] std::optional<TopologyFormat> topology_format(const Sources& sources, FileId file);

// Reports an error that lists the supported formats if it is none of them.
[[nodiscard]] std::optional<TransferGraph> read_transfers(const Sources& sources, FileId file, const Network& network,
                                                          Diagnostics& diagnostics);
[[nodiscard]] std::optional<Network> read_topology(const Sources& sources, FileId file, Diagnostics& diagnostics);

}  // namespace weft::netsim
