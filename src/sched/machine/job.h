// A job as the scheduler sees it: a gang of equal tasks with their resource requests, topology constraints, owner and
// preemption cost. The scheduler is agnostic to what the job computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/machine/machine.h"
#include "sched/machine/moment.h"

namespace weft::sched {

enum class JobId : std::uint32_t {};
[[nodiscard]] constexpr std::uint32_t index_of(JobId id) { return static_cast<std::uint32_t>(id); }

struct Job {
  std::string name;
  std::string tenant;
  std::string user;
  std::int32_t priority = 0;  // higher goes first
  Moment submitted{};

  Request task{};              // what each task needs
  std::int32_t tasks = 1;      // all or nothing
  std::int32_t min_tasks = 0;  // elastic: it can start and run with as few as this; 0: tasks

  // Topology. `required`: all tasks in one domain of this level. `preferred`: in one domain if one is available;
  // `preference_wait`: wait this long for it before accepting a wider one.
  Level required = Level::cluster;
  Level preferred = Level::nvlink;
  Duration preference_wait{};
  std::int32_t segment = 0;  // tasks per segment; 0: no segments. Each segment is placed in one domain of segment_level
  Level segment_level = Level::nvlink;
  std::vector<NodeId> excluded;  // nodes that it must not use, in ascending order; not part of a job file

  Duration limit = kUnlimited;     // it is killed after this long
  Duration run_time = kUnlimited;  // actual run time; for replay only, never read by the scheduler

  bool preemptible = true;
  bool inference = false;             // a service: never preempted or migrated
  Duration grace{};                   // between the notice and the end of a preemption
  Duration checkpoint_interval{};     // 0: no checkpoints, all its work is lost
  Duration restart_cost{};            // startup time until it computes again
  bool checkpoint_on_notice = false;  // writes one within its grace period when notified: only the restart is lost
  std::string job_file;               // a job file whose training section gives its step times; "" for none

  [[nodiscard]] std::int32_t fewest() const { return min_tasks > 0 ? min_tasks : tasks; }
  [[nodiscard]] std::int64_t gpu_milli() const { return std::int64_t{task.gpu_total()} * tasks; }
};

// More than the servers of any cluster.
inline constexpr std::int32_t kMaxTasks = 1'000'000;

// What is wrong with the job itself, or "" if nothing: counts out of range, fractions of several GPUs, and so on.
[[nodiscard]] std::string problem_of(const Job& job);

}  // namespace weft::sched
