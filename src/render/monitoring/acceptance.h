// What is run before the first job, and the figures each test must reach. Scripts are fixed text
// (monitoring/acceptance_scripts.cc); what is of this cluster stands in tables beside them, one line a server, a pool
// or a storage system, so that pairs and rounds are worked out by rule when a test runs and nothing grows with the
// square of the cluster.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "render/monitoring/watch.h"

namespace weft::render::acceptance {

// Shares of a nominal rate that a healthy part reaches.
// RDMA write with 4096-byte packets carries 98 % of an Ethernet line and more of an InfiniBand one; Azure's health
// check for ND H100 v5 wants 380 of 400 Gb/s on InfiniBand (azurehpc-health-checks, check_ib_bw_gdr).
inline constexpr int kRocePercent = 90;
inline constexpr int kInfinibandPercent = 95;
// nccl-tests, doc/PERFORMANCE.md: bus bandwidth compares with the speed of the bottleneck link whatever the number of
// ranks. Between servers that is the sum of a server's ports, inside one it is one direction of NVLink.
inline constexpr int kCollectivePercent = 80;
inline constexpr int kNvlinkPercent = 75;
inline constexpr int kAllToAllPercent = 60;
inline constexpr int kStoragePercent = 90;

struct PoolLimits {
  const PoolPlan* pool = nullptr;
  std::vector<std::string> backend_devices;  // RDMA devices
  std::vector<std::string> storage_devices;
  std::int64_t backend_mbps = 0;  // of one port
  std::int64_t storage_mbps = 0;
  std::int64_t backend_least = 0;  // Mb/s of one pair on one rail
  std::int64_t storage_least = 0;
  std::int64_t all_reduce_least = 0;  // MB/s of bus bandwidth, several servers; 0: no test
  std::int64_t in_server_least = 0;   // MB/s of bus bandwidth in one server
  std::int64_t all_to_all_least = 0;
};

struct StorageLimits {
  const model::StorageSpec* system = nullptr;
  Bytes node_read;  // per second, designed
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
// Every script, in the order in which run.sh calls those that are steps.
[[nodiscard]] std::span<const Script> scripts();

}  // namespace weft::render::acceptance
