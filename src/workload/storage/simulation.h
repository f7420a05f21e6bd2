// Simulates storage traffic on the fabric as built: many servers read from (or write to) many targets at once, each
// with a few requests in flight. Returns the throughput, with the network simulator's hashing, incast and
// oversubscription. Drives and software are not modeled.
#pragma once

#include "netsim/sim/options.h"
#include "workload/storage/io.h"
#include "workload/storage/path.h"

namespace weft::workload {

struct StorageTraffic {
  bool write = false;
  std::size_t clients = 1;      // the first this many of path.clients
  std::uint32_t in_flight = 1;  // requests per client
  std::uint32_t stripes = 1;    // targets per request
  netsim::Fidelity fidelity = netsim::Fidelity::flow;
  std::uint64_t seed = 1;
  std::shared_ptr<StorageMemory> memory;  // may be empty
};

// Bytes/s of all clients together, over a window of some tens of milliseconds.
[[nodiscard]] Result<double> storage_rate(const model::Cluster& cluster, const StoragePath& path,
                                          const StorageTraffic& traffic);

}  // namespace weft::workload
