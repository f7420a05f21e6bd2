// How much slower a training job runs where the scheduler put it than where it would run best: one step played over the
// backend as built, on the servers of the placement, against the same step on the first servers of the pool. For jobs
// of whole servers that name a job file; all others run at the pace of the trace.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/sched/input.h"
#include "model/job.h"

namespace weft::cli {

class SchedPace {
 public:
  // Reads the job files that the trace names, from beside it. Gives the exit code when one cannot be used: all is said.
  [[nodiscard]] std::optional<Exit> open(Context& context, SchedInput& input);
  // Whether any job has a file: else there is nothing to ask.
  [[nodiscard]] bool any() const { return !specs_.empty(); }
  [[nodiscard]] double of(const sched::Job& job, const sched::Machine& machine, const sched::Placement& placement);
  // What a reader of the result should know.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  // Seconds of a step; none where it cannot be played.
  [[nodiscard]] std::optional<double> step(const model::JobSpec& spec, std::int64_t gpus,
                                           std::vector<model::DeviceId> hosts, std::int64_t nodes) const;

  const model::Cluster* cluster_ = nullptr;
  std::map<std::string, model::JobSpec> specs_;  // by the name in the trace
  std::map<std::string, double> known_;          // by job file and spread
  std::map<std::string, std::optional<double>> best_;
  std::uint64_t unplayed_ = 0;
};

}  // namespace weft::cli
