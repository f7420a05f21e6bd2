// The parts of nccl_choose(): constants of GPUs and NICs, what NCCL's tuner would predict for an algorithm and protocol
// (it decides by that), and how long the same takes in truth, from how NCCL moves chunks. Times are microseconds and
// rates bytes per microsecond (1 GB/s = 1000) in doubles: these are models of a few per cent. Only the files
// of nccl/ and their tests need it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "workload/nccl/nccl.h"

namespace weft::workload {

// What differs between generations of GPUs. "Published" below: the table in nccl/published_test.cc of that name.
struct NcclArchitecture {
  std::string_view name;
  // As the tuner has them (NCCL 2.28 src/graph/topo.h, search.cc, tuning.cc; GB/s).
  double tuner_nvlink;                       // share of the datasheet's NVLink rate it counts with
  std::span<const double> intra_speeds;      // of one channel inside a node, that its search tries
  std::span<const double> inter_speeds;      // the same, between nodes
  double nvls_efficiency;                    // 0: no NVLink SHARP
  double ll_most;                            // LL in one node
  double ring_ll128_channel;                 // most of one channel
  std::array<double, 3> tree_ll128_channel;  // by nodes: 1, 2, 4 and more
  std::array<double, 3> tree_channel;
  std::array<double, 3> nvls_tree_channel;
  // As measured: shares of the datasheet's NVLink rate.
  double ring_link;  // that a ring keeps
  double tree_link;  // that chains of trees keep
  double nvls_link;  // that NVLink SHARP keeps, beside its steps
  double nvls_head;  // microseconds that a round of chunks costs for every GPU it serves, beside their bytes
  // Between nodes one channel of a Simple ring moves so much: a proxy with a window of 8 steps. 0: never the bound.
  double net_channel;
  std::uint32_t nvls_channels;
};
[[nodiscard]] const NcclArchitecture& nccl_architecture(std::string_view name);

// One question to the model.
struct NcclCase {
  const NcclMachine* machine = nullptr;
  const NcclArchitecture* gpu = nullptr;
  netsim::Collective operation = netsim::Collective::all_reduce;
  double bytes = 0;
  double ranks = 1;
  double node_ranks = 1;
  double nodes = 1;
  double nics = 1;  // of the ranks of one node
};
[[nodiscard]] NcclCase nccl_case(const NcclMachine& machine, netsim::Collective operation, Bytes bytes,
                                 const NcclGroup& group);

// Bytes per microsecond.
[[nodiscard]] double nvlink_rate(const NcclCase& c);  // datasheet, or PCIe where there is none
[[nodiscard]] double nic_rate(const NcclCase& c);     // of all NICs of the ranks of a node, that payload gets

// False where NCCL has no such thing: NVLS without multicast, PAT with more than one rank to a node, LL128 over PCIe.
[[nodiscard]] bool nccl_possible(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
// What NCCL's tuner expects, microseconds (its src/graph/tuning.cc).
[[nodiscard]] double tuner_time(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
// The parts of that which the truth shares: the tuner's rate (bytes per microsecond, of the buffer) and latency.
[[nodiscard]] double tuner_rate(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
[[nodiscard]] double tuner_latency(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);
// Share of its rate that the tuner counts on for a tree of this size.
[[nodiscard]] double tree_correction(NcclProtocol protocol, double bytes);

// Rings or trees that share the bytes (NCCL: CTAs).
[[nodiscard]] std::uint32_t nccl_channels(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);

// Of NVLS (tree: NVLS tree).
struct NvlsShape {
  double channels = 0;
  double chunk = 0;  // bytes of one channel and one head, at most
};
[[nodiscard]] NvlsShape nvls_shape(const NcclCase& c, bool tree);

struct NcclTime {
  double fixed = 0;  // microseconds that do not shrink with the size
  double moving = 0;
  [[nodiscard]] double total() const { return fixed + moving; }
};
[[nodiscard]] NcclTime wall_time(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol);

}  // namespace weft::workload
