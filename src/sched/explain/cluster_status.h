// Cluster status summary: usage, waiting jobs and their reasons, fragmentation of the idle GPUs, usage, lending and
// borrowing of tenants, and which jobs wait on which. Read-only view of a scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/explain/explain.h"

namespace weft::sched {

struct ReasonCount {
  Reason reason = Reason::none;
  std::uint32_t jobs = 0;
  std::int64_t gpu_milli = 0;
  Duration longest{};  // longest wait so far
};

struct TenantStatus {
  std::string name;
  std::string cohort;
  bool limited = false;
  Amounts quota;
  Amounts used;
  std::int64_t borrowed_gpu_milli = 0;
  std::int64_t lent_gpu_milli = 0;  // its share of what its cohort borrows, proportional to what each member can lend
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::int64_t waiting_gpu_milli = 0;
};

struct QueueEntry {
  JobId job{};
  Reason reason = Reason::none;
  std::string sentence;
  Moment expected = kNever;
  Known known = Known::far;
  std::vector<Blocker> waits_on;  // the most important first
};

struct ClusterStatus {
  Moment now{};
  std::uint32_t nodes = 0;
  std::uint32_t nodes_down = 0;   // without spares
  std::uint32_t nodes_spare = 0;  // kept aside to replace others
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::int64_t up_gpu_milli = 0;  // all GPUs = up + down + spare
  std::int64_t down_gpu_milli = 0;
  std::int64_t spare_gpu_milli = 0;
  std::int64_t used_gpu_milli = 0;  // on nodes that are up
  FragmentationScore fragmentation;
  std::vector<ReasonCount> reasons;   // in the order of Reason
  std::vector<TenantStatus> tenants;  // by name
  std::vector<QueueEntry> queue;      // in queue order, truncated
  std::uint32_t queued = 0;           // before it was truncated: without what the audience must not see
};

struct StatusOptions {
  std::size_t most_queue = 20;
  std::size_t most_blockers = 3;
  std::uint32_t most_events = 2'000;  // forecast limit for the starts of the queue
  // The queue, the reasons and the tenants are those that it sees; the other figures are of the whole cluster.
  Audience audience{};
};

[[nodiscard]] ClusterStatus cluster_status(const Scheduler& scheduler, Moment now, const StatusOptions& options = {});

}  // namespace weft::sched
