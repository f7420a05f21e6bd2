// What NCCL would do for a collective, and how long it takes when nothing else is on the wires: algorithm, protocol and
// channels chosen by least time, as NCCL's own cost model chooses them. The same choice can be laid out as transfers
// (nccl/transfers.h) for the network simulator, which then sees congestion, hashing and slow rails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netsim/network/sim_time.h"
#include "netsim/traffic/collective.h"

namespace weft::workload {

using netsim::SimTime;

enum class NcclAlgorithm : std::uint8_t { ring, tree, nvls, nvls_tree, pat, pairs };  // pairs: all-to-all, send-receive
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
[[nodiscard]] std::string_view to_text(NcclAlgorithm algorithm);
[[nodiscard]] std::string_view to_text(NcclProtocol protocol);

// Of one kind of server: what the cost model is fed with. Rates are of one direction.
struct NcclMachine {
  std::string architecture;  // "ampere", "hopper", "blackwell": constants differ
  model::ByteRate nvlink;    // of one GPU to the NVLink fabric, as the datasheet says; 0: none (PCIe)
  bool nvswitch = true;
  bool multicast = true;        // NVLS: reduction in the NVLink switch
  std::uint32_t node_gpus = 8;  // GPUs of one NVLink domain
  std::uint32_t nics = 8;       // of one domain, on the backend
  BitRate nic;                  // of one
  bool infiniband = false;      // else RoCEv2
  BitRate pcie;                 // GPU to NIC, to host
};

// Ranks of a communicator: `node_ranks` of them on each of ranks / node_ranks domains.
struct NcclGroup {
  std::uint32_t ranks = 8;
  std::uint32_t node_ranks = 8;
};

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  std::uint32_t channels = 1;
  SimTime time;              // whole, alone on the wires
  SimTime latency;           // of it, what does not shrink with the size
  double bus_bandwidth = 0;  // bytes/s, as nccl-tests counts
  Bytes nvlink_bytes;        // that one GPU sends over NVLink
  Bytes nic_bytes;           // that one GPU's share sends into the backend
};

// Fixed by a user (NCCL_ALGO, NCCL_PROTO), or chosen.
struct NcclLimits {
  std::optional<NcclAlgorithm> algorithm;
  std::optional<NcclProtocol> protocol;
};

[[nodiscard]] NcclChoice nccl_choose(const NcclMachine& machine, netsim::Collective operation, Bytes bytes,
                                     const NcclGroup& group, const NcclLimits& limits = {});

// Connections that a rank opens for a communicator, and the queue pairs of one: what bootstrap has to set up.
struct NcclConnections {
  std::uint32_t peers = 0;
  std::uint32_t queue_pairs = 0;
};
[[nodiscard]] NcclConnections nccl_connections(const NcclMachine& machine, const NcclGroup& group);

}  // namespace weft::workload
