// Storage traffic on the fabric as built: many servers read from (or write to) many targets at once, a few requests in
// flight each. What arrives a second, with hashing, incast and oversubscription as the network simulator sees them.
// Drives and software are not part of it.
#pragma once

#include "netsim/sim/options.h"
#include "workload/storage/path.h"

namespace weft::workload {

struct StorageTraffic {
  bool write = false;
  std::size_t clients = 1;      // of path.clients, the first so many
  std::uint32_t in_flight = 1;  // requests of one client
  std::uint32_t stripes = 1;    // targets of one request
  netsim::Fidelity fidelity = netsim::Fidelity::flow;
  std::uint64_t seed = 1;
};

// Bytes/s of all clients together, over a window of some tens of milliseconds.
[[nodiscard]] Result<double> storage_rate(const model::Cluster& cluster, const StoragePath& path,
                                          const StorageTraffic& traffic);

}  // namespace weft::workload
