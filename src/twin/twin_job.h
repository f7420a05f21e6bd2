// A job as the twin plays it: what is submitted to the controller, and what only the simulated cluster knows: how long
// it computes, and what a start and a checkpoint cost.
#pragma once

#include "control/job_spec.h"

namespace weft::twin {

struct TwinJob {
  control::JobSpec spec;                 // its environment carries the position of the job, see kJobVariable
  Duration submitted{};                  // since the start of the run
  Duration work = sched::kUnlimited;     // time to compute without an interruption; unlimited: until the end of the run
  Duration launch = sched::seconds(60);  // until the processes run: placement, image, pods
  Duration load = sched::seconds(60);    // from there to the first step: rendezvous, communicators, data
  Duration restore = sched::seconds(60);  // additionally, if a checkpoint is loaded
  Duration stall = sched::seconds(30);    // the job waits for this long per checkpoint
  Duration write = sched::seconds(30);    // until the checkpoint is complete, from its start; at least the stall
  Duration step = sched::seconds(1);      // of training, for the names of checkpoints
  Duration stop = sched::seconds(2);      // from SIGTERM to the report that a part has ended
  Duration verify = sched::seconds(1);    // of the checkpoints, before a start
};

// Environment variable of the spec with the position of the job in the plan.
inline constexpr std::string_view kJobVariable = "WEFT_TWIN_JOB";

}  // namespace weft::twin
