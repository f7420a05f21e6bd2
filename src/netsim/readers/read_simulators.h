// Readers for files of other simulators: htsim's connection matrices (.cm) and topologies (.topo), the flow and
// topology files of HPCC's and SimAI's ns-3, and the neutral ".flows" format ("id src dst bytes start_ns after_id").
// Every error has file, line and column; input is untrusted and its size is bounded.
#pragma once

#include <optional>

#include "base/diagnostic.h"
#include "base/source.h"
#include "netsim/network/network.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim {

// Limits per file; exceeding one is an error.
inline constexpr std::int64_t kMaxFlows = 20'000'000;
inline constexpr std::int64_t kMaxFlowBytes = 1'000'000'000'000'000;  // 1 PB in one flow
inline constexpr std::int64_t kMaxLinks = 10'000'000;
inline constexpr std::int64_t kMaxNodes = 5'000'000;

// Host numbers in flow files are indices into network.endpoints(). finish() is not called: more transfers may be added.
[[nodiscard]] std::optional<TransferGraph> read_flows(const Sources& sources, FileId file, const Network& network,
                                                      Diagnostics& diagnostics);
[[nodiscard]] std::optional<TransferGraph> read_htsim_matrix(const Sources& sources, FileId file,
                                                             const Network& network, Diagnostics& diagnostics);
[[nodiscard]] std::optional<TransferGraph> read_hpcc_flows(const Sources& sources, FileId file, const Network& network,
                                                           Diagnostics& diagnostics);
[[nodiscard]] std::optional<Network> read_htsim_topology(const Sources& sources, FileId file, Diagnostics& diagnostics);
[[nodiscard]] std::optional<Network> read_hpcc_topology(const Sources& sources, FileId file, Diagnostics& diagnostics);

}  // namespace weft::netsim
