// A job as the scheduler sees it: a gang of equal tasks with what each needs, how they must stand to each other, whose
// they are and what losing them would cost. What the job computes is not the scheduler's business.
#pragma once

#include <cstdint>
#include <string>

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
  std::int32_t tasks = 1;      // all of them or none
  std::int32_t min_tasks = 0;  // elastic: it starts and goes on with as few as this; 0: tasks

  // Where the tasks may stand. `required`: all inside one domain of this level. `preferred`: inside one if that costs
  // nothing but a choice; `preference_wait`: hold out this long for it before taking a wider one.
  Level required = Level::cluster;
  Level preferred = Level::nvlink;
  Duration preference_wait{};
  std::int32_t segment = 0;  // tasks of one segment; 0: no segments. Each lies in one domain of segment_level
  Level segment_level = Level::nvlink;

  Duration limit = kUnlimited;     // it is ended after this long
  Duration run_time = kUnlimited;  // how long it really runs; for replay alone, the scheduler never looks at it

  bool preemptible = true;
  bool inference = false;             // a service: never preempted, never moved
  Duration grace{};                   // between the notice and the end of a preemption
  Duration checkpoint_interval{};     // 0: writes none, all its work is lost
  Duration restart_cost{};            // start-up until it computes again
  bool checkpoint_on_notice = false;  // writes one within its grace when told to go: then only the restart is lost
  std::string job_file;               // a job file whose training section gives its step times; "" for none

  [[nodiscard]] std::int32_t fewest() const { return min_tasks > 0 ? min_tasks : tasks; }
  [[nodiscard]] std::int64_t gpu_milli() const { return std::int64_t{task.gpu_total()} * tasks; }
};

// More than any cluster has servers.
inline constexpr std::int32_t kMaxTasks = 1'000'000;

// What is wrong with a job in itself, or "" if nothing: counts out of range, fractions of several GPUs, and so on.
[[nodiscard]] std::string problem_of(const Job& job);

}  // namespace weft::sched
