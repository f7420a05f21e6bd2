// Slowdown of a training job at its placement relative to its best placement: one step simulated on the backend as
// built, on the placed servers, compared with the same step on the first servers of the pool. For jobs of whole servers
// that name a job file; all others run at the pace of the trace.
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
  // Reads the job files named in the trace, from its folder. Returns the exit code if one cannot be used, after
  // reporting why.
  [[nodiscard]] std::optional<Exit> open(Context& context, SchedInput& input);
  // Whether any job has a file; otherwise every job runs at the pace of the trace.
  [[nodiscard]] bool any() const { return !specs_.empty(); }
  [[nodiscard]] double of(const sched::Job& job, const sched::Machine& machine, const sched::Placement& placement);
  // Notes for readers of the result.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  // Seconds per step; none if it cannot be simulated.
  [[nodiscard]] std::optional<double> step(const model::JobSpec& spec, std::int64_t gpus,
                                           std::vector<model::DeviceId> hosts, std::int64_t nodes) const;

  const model::Cluster* cluster_ = nullptr;
  std::map<std::string, model::JobSpec> specs_;  // by the name in the trace
  std::map<std::string, double> known_;          // by job file and spread
  std::map<std::string, std::optional<double>> best_;
  std::uint64_t unplayed_ = 0;
};

}  // namespace weft::cli
