// Tests that run before the first job, and the thresholds each must reach. Scripts are fixed text
// (monitoring/acceptance_scripts.cc); cluster-specific data is in tables beside them, one line per server, pool or
// storage system. Pairs and rounds are computed when a test runs, so nothing grows with the square of the cluster size.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "render/monitoring/watch.h"

namespace weft::render::acceptance {

// Fractions of the nominal rate that healthy hardware reaches.
// RDMA write with 4096-byte packets reaches 98 % of an Ethernet line rate and more on InfiniBand; Azure's health check
// for ND H100 v5 requires 380 of 400 Gb/s on InfiniBand (azurehpc-health-checks, check_ib_bw_gdr).
inline constexpr int kRocePercent = 90;
inline constexpr int kInfinibandPercent = 95;
// nccl-tests, doc/PERFORMANCE.md: bus bandwidth is comparable to the speed of the bottleneck link regardless of the
// number of ranks. Between servers that is the sum of a server's ports, within a server one direction of NVLink.
inline constexpr int kCollectivePercent = 80;
inline constexpr int kNvlinkPercent = 75;
inline constexpr int kAllToAllPercent = 60;
inline constexpr int kStoragePercent = 90;

struct PoolLimits {
  const PoolPlan* pool = nullptr;
  std::vector<std::string> backend_devices;  // RDMA devices
  std::vector<std::string> storage_devices;
  std::int64_t backend_mbps = 0;  // per port
  std::int64_t storage_mbps = 0;
  std::int64_t backend_least = 0;  // Mb/s per pair and rail
  std::int64_t storage_least = 0;
  std::int64_t all_reduce_least = 0;  // MB/s of bus bandwidth across servers; 0: no test
  std::int64_t in_server_least = 0;   // MB/s of bus bandwidth within one server
  std::int64_t all_to_all_least = 0;
};

struct StorageLimits {
  const model::StorageSpec* system = nullptr;
  Bytes node_read;  // per second, by design
  Bytes node_write;
  Bytes all_read;
  Bytes all_write;
};

[[nodiscard]] std::vector<PoolLimits> pool_limits(const watch::Watch& watch);
[[nodiscard]] std::vector<StorageLimits> storage_limits(const watch::Watch& watch);

struct Script {
  std::string_view name;
  std::string_view (*text)();
};
// All scripts, with the steps in the order in which run.sh calls them.
[[nodiscard]] std::span<const Script> scripts();

}  // namespace weft::render::acceptance
