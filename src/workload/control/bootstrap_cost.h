// What it costs to make an NCCL communicator of n ranks, by its parts as NCCL itself logs them. Parts were measured and
// published one by one; none is fitted to a total.
#pragma once

#include <cstdint>

namespace weft::workload {

// Seconds.
struct CommunicatorCost {
  double root = 0;         // every rank reports to the bootstrap root and is told its neighbor, one after another
  double rounds = 0;       // all-gathers around the bootstrap ring, n - 1 rounds each
  double topology = 0;     // detection in the server, search of graphs
  double tables = 0;       // loops over all pairs of ranks on the CPU
  double connections = 0;  // queue pairs
  [[nodiscard]] double total() const { return root + rounds + topology + tables + connections; }
};

// `queue_pairs` of one rank; `ranks_per_root`: 0 for one root (ncclCommInitRank), else ncclCommInitRankScalable.
[[nodiscard]] CommunicatorCost communicator_cost(std::uint32_t ranks, std::uint32_t queue_pairs,
                                                 std::uint32_t ranks_per_root = 0);
// Once a process: kernels loaded, buffers allocated.
inline constexpr double kFirstCommunicator = 0.42 + 0.41;

// Connections that a single-threaded TCP server takes: PyTorch's TCPStore (libuv) is up with 98,304 ranks in 100 s
// (PyTorch, "Introduction to Libuv TCPStore Backend").
inline constexpr double kAcceptSeconds = 100.0 / 98'304;
// Requests that it answers: libuv's own benchmark, 38,854 round trips a second.
inline constexpr double kStoreSeconds = 1 / 38'854.0;

}  // namespace weft::workload
