#include "workload/control/bootstrap_cost.h"

#include <algorithm>

namespace weft::workload {
namespace {

// One round: a small message to the next rank and one from the previous, through two kernels.
constexpr double kRound = 30e-6;
// Addresses, peers' identities, graphs (NCCL's bootstrapInit and initTransportsRank).
constexpr double kAllGathers = 3;
// Loops over pairs of ranks: ncclBuildRing takes 26 s at 98,304 ranks, initTransportsRank 11 s at 49,152 (measured by
// Meta, NVIDIA/nccl pull request 1789).
constexpr double kPair = 26.0 / (98'304.0 * 98'304.0) + 11.0 / (49'152.0 * 49'152.0);
// "topo" and "graphs" in NCCL's init timings for 8 ranks are 0.06 + 0.05 s (nccl-tests issue 273) and 1.10 + 0.01 s on
// a DGX B200 (nccl issue 1646); this value is in between.
constexpr double kTopology = 0.35;
// Creating a queue pair and moving it through its states: milliseconds, hundreds of times 10 us (Wei et al., KRCORE,
// USENIX ATC 2022).
constexpr double kQueuePair = 2e-3;

}  // namespace

CommunicatorCost communicator_cost(std::uint32_t ranks, std::uint32_t queue_pairs, std::uint32_t ranks_per_root) {
  CommunicatorCost cost;
  if (ranks <= 1) return cost;
  const auto n = static_cast<double>(ranks);
  const double each = ranks_per_root == 0 ? n : std::min(n, static_cast<double>(ranks_per_root));
  cost.root = each * kAcceptSeconds;
  cost.rounds = kAllGathers * (n - 1) * kRound;
  cost.topology = kTopology;
  cost.tables = n * n * kPair;
  cost.connections = queue_pairs * kQueuePair;
  return cost;
}

}  // namespace weft::workload
