// Published training steps through the command line: each row becomes a cluster file and a job file, and `weft sim
// life` runs on them with its defaults.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workload/training/published_steps.h"

namespace weft::validation {

// One row's outcome.
struct JobRun {
  double seconds = 0;
  double memory = 0;  // bytes, estimated
  bool refused = false;
  bool warned = false;   // memory
  std::string messages;  // standard error
};

// Runs jobs in a folder of its own, which it removes.
class JobRunner {
 public:
  JobRunner();
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  // `gpu` as in steps.csv: an id of the catalog, then changes ("memory=40", in GB; "bandwidth=1.555", in TB/s).
  [[nodiscard]] JobRun run(const std::string& gpu, std::int64_t gpus, const std::string& training);

 private:
  std::string folder_;
  std::map<std::string, JobRun> known_;  // several publishers ran the same job
};

// The `training` section of a row's job file: what its table states, and nothing else.
[[nodiscard]] std::string training_of(const workload::PublishedSteps& table, const workload::PublishedStep& row);

}  // namespace weft::validation
