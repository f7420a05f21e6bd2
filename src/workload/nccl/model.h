// The parts of nccl_choose(): constants of GPUs and NICs, the time that NCCL's tuner predicts for an algorithm and
// protocol (the basis of its choice), and the actual time, from how NCCL moves chunks. Times are microseconds and rates
// bytes per microsecond (1 GB/s = 1000) in doubles: these models are accurate to a few percent. Only the files of nccl/
// and their tests need it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "workload/nccl/nccl.h"

namespace weft::workload {

// Differences between GPU generations. "Published" below: the table of that name in nccl/published_collectives.h.
struct NcclArchitecture {
  std::string_view name;
  // Values used by the tuner (NCCL 2.28 src/graph/topo.h, search.cc, tuning.cc; GB/s).
  double tuner_nvlink;                       // share of the datasheet's NVLink rate that it assumes
  std::span<const double> intra_speeds;      // per channel inside a node, tried by its search
  std::span<const double> inter_speeds;      // the same, between nodes
  double nvls_efficiency;                    // 0: no NVLink SHARP
  double ll_most;                            // LL in one node
  double ring_ll128_channel;                 // maximum per channel
  std::array<double, 3> tree_ll128_channel;  // by nodes: 1, 2, 4 and more
  std::array<double, 3> tree_channel;
  std::array<double, 3> nvls_tree_channel;
  // Measured: shares of the datasheet's NVLink rate.
  double ring_link;  // reached by a ring
  double tree_link;  // reached by chains of trees
  double nvls_link;  // reached by NVLink SHARP, not counting its steps
  double nvls_head;  // microseconds per round of chunks and GPU served, in addition to their bytes
  // Rate of one channel of a Simple ring between nodes: a proxy with a window of 8 steps. 0: never the bottleneck.
  double net_channel;
  std::uint32_t nvls_channels;
};
[[nodiscard]] const NcclArchitecture& nccl_architecture(std::string_view name);

// One query to the model.
struct NcclCase {
  const NcclMachine* machine = nullptr;
  const NcclArchitecture* gpu = nullptr;
  netsim::Collective operation = netsim::Collective::all_reduce;
  double bytes = 0;
  double ranks = 1;
  double node_ranks = 1;
  double nodes = 1;
  double nics = 1;  // used by the ranks of one node
};
[[nodiscard]] NcclCase nccl_case(const NcclMachine& machine, netsim::Collective operation, Bytes bytes,
                                 const NcclGroup& group);

// Bytes per microsecond.
[[nodiscard]] double nvlink_rate(const NcclCase& c);  // datasheet, or PCIe without NVLink
[[nodiscard]] double nic_rate(const NcclCase& c);     // payload rate of all NICs of the ranks of a node

// False if NCCL does not support it: NVLS without multicast, PAT with more than one rank per node, LL128 over PCIe.
[[nodiscard]] bool nccl_possible(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
// Time that NCCL's tuner predicts, microseconds (its src/graph/tuning.cc).
[[nodiscard]] double tuner_time(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
// Parts of the prediction that also hold for the actual time: the tuner's rate (bytes per microsecond, of the buffer)
// and latency.
[[nodiscard]] double tuner_rate(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
[[nodiscard]] double tuner_latency(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
// Share of its rate that the tuner assumes for a tree of this size.
[[nodiscard]] double tree_correction(NcclProtocol protocol, double bytes);

// Rings or trees that share the bytes (NCCL: CTAs).
[[nodiscard]] std::uint32_t nccl_channels(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);

// For NVLS (tree: NVLS tree).
struct NvlsShape {
  double channels = 0;
  double chunk = 0;  // maximum bytes per channel and head
};
[[nodiscard]] NvlsShape nvls_shape(const NcclCase& c, bool tree);

struct NcclTime {
  double fixed = 0;  // microseconds, independent of the size
  double moving = 0;
  [[nodiscard]] double total() const { return fixed + moving; }
};
[[nodiscard]] NcclTime wall_time(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);

}  // namespace weft::workload
