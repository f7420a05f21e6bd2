#include "sched/machine/job.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>
#include <utility>

namespace weft::sched {
namespace {

std::string problem_of_gpus(const Request& task) {
  if (task.gpus < 0) return fmt::format("a task requests {} GPUs", task.gpus);
  if (task.mig.slices == 0) {
    if (task.mig.starts != 0) return "a MIG instance has start slices but no size in slices";
    if (task.gpus > kMaxGpus)
      return fmt::format("a task requests {} GPUs; a server has at most {}", task.gpus, kMaxGpus);
    if (task.gpu_milli < 1 || task.gpu_milli > kWholeGpu) {
      return fmt::format("a task requests {} thousandths of a GPU; expected 1 to {}", task.gpu_milli, kWholeGpu);
    }
    if (task.gpus != 1 && task.gpu_milli != kWholeGpu) return "a fraction of a GPU can only be requested with one GPU";
    return {};
  }
  if (task.mig.slices > kMigSlices) {
    return fmt::format("a MIG instance of {} slices, but a GPU has {}", task.mig.slices, kMigSlices);
  }
  const unsigned last_start = static_cast<unsigned>(kMigSlices - task.mig.slices);
  if (task.mig.starts == 0 || (task.mig.starts >> (last_start + 1U)) != 0) {
    return "a MIG instance has no valid start slice on the GPU";
  }
  if (task.gpu_milli != kWholeGpu) return "a MIG instance cannot be time-sliced";
  if (task.gpus == 0) return "a MIG profile has no number of instances";
  if (task.gpus > kMaxGpus * kMigSlices / task.mig.slices) {
    return fmt::format("a task requests {} MIG instances; a server has at most {}", task.gpus,
                       kMaxGpus * kMigSlices / task.mig.slices);
  }
  return {};
}

std::string problem_of_tasks(const Job& job) {
  if (job.tasks < 1 || job.tasks > kMaxTasks) {
    return fmt::format("a job has {} tasks; expected 1 to {}", job.tasks, kMaxTasks);
  }
  if (job.min_tasks < 0 || job.min_tasks > job.tasks) {
    return fmt::format("the job's minimum is {} tasks but it has {}", job.min_tasks, job.tasks);
  }
  if (job.segment < 0 || job.segment > job.tasks) {
    return fmt::format("segments of {} tasks are larger than the job, which has {}", job.segment, job.tasks);
  }
  if (job.segment > 0 && (job.tasks % job.segment != 0 || job.fewest() % job.segment != 0)) {
    return fmt::format("segments of {} tasks do not divide the {} tasks of the job", job.segment,
                       job.tasks % job.segment != 0 ? job.tasks : job.fewest());
  }
  // All tasks on one server: no more GPUs than a server can have.
  const std::int64_t most = std::int64_t{kMaxGpus} * kWholeGpu;
  if (job.required == Level::node && std::int64_t{job.task.gpu_total()} * job.fewest() > most) {
    return fmt::format("the job must fit on one server but has {} tasks of {:g} GPUs; a server has at most {}",
                       job.fewest(), job.task.gpu_total() / 1000.0, kMaxGpus);
  }
  if (job.segment > 0 && job.segment_level == Level::node && std::int64_t{job.task.gpu_total()} * job.segment > most) {
    return fmt::format("a segment must fit on one server but has {} tasks of {:g} GPUs; a server has at most {}",
                       job.segment, job.task.gpu_total() / 1000.0, kMaxGpus);
  }
  return {};
}

}  // namespace

std::string problem_of(const Job& job) {
  const Request& task = job.task;
  if (task.cpu < 0 || task.memory_mib < 0 || task.functions < 0 || task.scratch_gib < 0) {
    return "a task requests a negative amount";
  }
  if (std::string problem = problem_of_gpus(task); !problem.empty()) return problem;
  if (task.gpus == 0 && task.cpu == 0 && task.memory_mib == 0) return "a task requests no GPU, no CPU and no memory";
  if (std::string problem = problem_of_tasks(job); !problem.empty()) return problem;
  if (job.inference && job.preemptible) return "a service (inference) cannot be preemptible";
  if (job.submitted.count() < 0) return "the job was submitted before the trace begins";
  for (const auto& [time, name] :
       std::initializer_list<std::pair<Duration, std::string_view>>{{job.preference_wait, "preference_wait"},
                                                                    {job.limit, "limit"},
                                                                    {job.run_time, "run_time"},
                                                                    {job.grace, "grace"},
                                                                    {job.checkpoint_interval, "checkpoint_interval"},
                                                                    {job.restart_cost, "restart_cost"}}) {
    if (time.count() < 0) return fmt::format("{} is negative", name);
  }
  if (job.limit.count() == 0) return "limit is zero: the job would end immediately";
  return {};
}

}  // namespace weft::sched
