// A simulation's result as tables: a summary that fits on a screen, the classes of links, the hottest links, the
// slowest transfers, the bottleneck of the run. The output does not depend on the machine or on how long the run took.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/document.h"
#include "netsim/sim/result.h"

namespace weft::netsim {

struct ResultContext {
  const Network& network;
  const TransferGraph& transfers;
  const SimOptions& options;
  const RoutingOptions& routing;
  std::string where;                       // "pod32, backend fabric"
  std::string what;                        // "permutation of 10MB over 256 ranks"
  std::vector<std::string> tags;           // by Transfer::tag: "incast", "background"; a single one needs no table
  std::vector<std::uint32_t> connections;  // connections_by_link()
  std::size_t hottest = 10;                // rows of the table of links
  std::size_t storm_rows = 20;             // rows of the storm tree
};

[[nodiscard]] Document result_document(const ResultContext& context, const SimResult& result);
// Several fidelities of the same run, coarsest first: each one's error against the next, then the last in full.
[[nodiscard]] Document comparison_document(const ResultContext& context, std::span<const SimResult> results);

// Errors of the completion times of `coarse` against those of `fine`, per transfer, as shares of the latter.
struct FidelityError {
  std::size_t compared = 0;  // transfers that ended in both
  double mean = 0;           // of the absolute errors
  double worst = 0;
  double end = 0;  // of the last completion, with its sign
};
[[nodiscard]] FidelityError fidelity_error(const SimResult& coarse, const SimResult& fine);

// "dcqcn, PFC, ECN, 4096 payload"
[[nodiscard]] std::string transport_words(const SimOptions& options);
// "complete", "cut at 10 ms: 3 of 256 transfers had not ended", ...
[[nodiscard]] std::string state_text(const SimResult& result, std::size_t transfers);

}  // namespace weft::netsim
