// Cost of creating an NCCL communicator of n ranks, split into the phases that NCCL itself logs. Each phase uses its
// own published measurement; none is fitted to a total.
#pragma once

#include <cstdint>

namespace weft::workload {

// Seconds.
struct CommunicatorCost {
  double root = 0;         // every rank reports to the bootstrap root and receives its neighbor, one after another
  double rounds = 0;       // all-gathers around the bootstrap ring, n - 1 rounds each
  double topology = 0;     // topology detection in the server, graph search
  double tables = 0;       // loops over all pairs of ranks on the CPU
  double connections = 0;  // queue pairs
  [[nodiscard]] double total() const { return root + rounds + topology + tables + connections; }
};

// `queue_pairs` per rank; `ranks_per_root`: 0 for one root (ncclCommInitRank), else ncclCommInitRankScalable.
[[nodiscard]] CommunicatorCost communicator_cost(std::uint32_t ranks, std::uint32_t queue_pairs,
                                                 std::uint32_t ranks_per_root = 0);
// Once per process: load kernels, allocate buffers.
inline constexpr double kFirstCommunicator = 0.42 + 0.41;

// Connections per second that a single-threaded TCP server accepts: PyTorch's TCPStore (libuv) is up with 98,304 ranks
// in 100 s (PyTorch, "Introduction to Libuv TCPStore Backend").
inline constexpr double kAcceptSeconds = 100.0 / 98'304;
// Requests per second that it serves: libuv's own benchmark, 38,854 round trips per second.
inline constexpr double kStoreSeconds = 1 / 38'854.0;

}  // namespace weft::workload
