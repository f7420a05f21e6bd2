// What faults of the backend do to a job: whether it goes on, how it ends, what a restart finds. Plain data: judged by
// nccl/backend_faults.h, completed by play_life(), shown by views.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netsim/network/sim_time.h"

namespace weft::workload {

using netsim::SimTime;

// Says nothing if `any` is false.
struct FaultOutcome {
  bool any = false;
  bool continues = true;            // the running job survives
  std::vector<std::string> causes;  // "train001:gpu0 has no backend port"
  std::string ends_by;              // "RDMA retries are used up, NCCL aborts"; empty if it continues
  SimTime ends_after;               // from the fault to the end of the job
  SimTime stall;                    // once, in total, if it continues
  bool restarts = true;             // the same servers can run it
  std::uint32_t ports = 0;          // GPUs with a port of their own on a whole server of the job
  std::uint32_t ports_left = 0;     // on the server with the fewest
  SimTime step_before;              // without the faults
  SimTime restart;                  // submit and bootstrap
  SimTime lost_work;                // since the last checkpoint, on average
};

}  // namespace weft::workload
