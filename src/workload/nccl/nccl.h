// NCCL's choice for a collective, and its time on an otherwise idle network: algorithm, protocol and channels with the
// least time, as NCCL's own cost model selects them. The same choice can be expanded into transfers (nccl/transfers.h)
// for the network simulator, which adds congestion, hashing and slow rails.
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

// As NCCL numbers itself since 2.9 (NCCL_VERSION): 2.28.9 is 22809.
inline constexpr std::uint32_t kNcclVersion = 23'007;  // whose constants are used unless a version is given

// One kind of server: input of the cost model. Rates are per direction.
struct NcclMachine {
  std::string architecture;  // "ampere", "hopper", "blackwell": constants differ
  model::ByteRate nvlink;    // per GPU to the NVLink fabric, from the datasheet; 0: none (PCIe)
  bool nvswitch = true;
  bool multicast = true;                 // NVLS: reduction in the NVLink switch
  std::uint32_t node_gpus = 8;           // GPUs per NVLink domain
  std::uint32_t nics = 8;                // per domain, on the backend
  BitRate nic;                           // per NIC
  bool infiniband = false;               // else RoCEv2
  BitRate pcie;                          // GPU to NIC, to host
  std::uint32_t version = kNcclVersion;  // NCCL's choices change with it
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
  SimTime time;              // in total, on an idle network
  SimTime latency;           // part of it that does not depend on the size
  double bus_bandwidth = 0;  // bytes/s, as nccl-tests counts
  Bytes nvlink_bytes;        // sent by one GPU over NVLink
  Bytes nic_bytes;           // sent into the backend, per GPU
};

// Set by the user (NCCL_ALGO, NCCL_PROTO), or chosen.
struct NcclLimits {
  std::optional<NcclAlgorithm> algorithm;
  std::optional<NcclProtocol> protocol;
};

[[nodiscard]] NcclChoice nccl_choose(const NcclMachine& machine, netsim::Collective operation, Bytes bytes,
                                     const NcclGroup& group, const NcclLimits& limits = {});

// Connections that a rank opens for a communicator, and queue pairs per connection: what bootstrap has to set up.
struct NcclConnections {
  std::uint32_t peers = 0;
  std::uint32_t queue_pairs = 0;
};
[[nodiscard]] NcclConnections nccl_connections(const NcclMachine& machine, const NcclGroup& group);

}  // namespace weft::workload
