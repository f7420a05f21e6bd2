// Scheduler of one engine as leases need it: which of its jobs are on which nodes, and a mark that keeps new ones away.
// Calls block and are made by one thread. It ends no job, and never touches a mark of somebody else.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/event.h"

namespace weft::world {

// How the mark of a lease begins where a scheduler has a text for it (Slurm's reason of a drain).
inline constexpr std::string_view kLeaseMark = "weft lease:";

class LeaseScheduler {
 public:
  LeaseScheduler() = default;
  LeaseScheduler(const LeaseScheduler&) = delete;
  LeaseScheduler& operator=(const LeaseScheduler&) = delete;
  LeaseScheduler(LeaseScheduler&&) = delete;
  LeaseScheduler& operator=(LeaseScheduler&&) = delete;
  virtual ~LeaseScheduler() = default;

  // Every node of the cluster that the scheduler knows, with its jobs of any user. Complete, or an error.
  [[nodiscard]] virtual Result<std::vector<control::NodeUse>> list() = 0;
  // Sets or removes the mark of the lease.
  [[nodiscard]] virtual Status mark(sched::NodeId node, bool cordon) = 0;
  // Calls that are running and those to come fail soon. May be called from another thread.
  virtual void stop() = 0;
};

}  // namespace weft::world
