// The kinds of task in a workload and how common each is: what a scheduler may know of jobs that have not come yet. The
// fragment measure of the FGD paper (USENIX ATC'23) weighs a server against the typical ones, weft's own node value
// against all. Knows nothing of the order in which tasks come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/machine/job.h"
#include "sched/machine/resources.h"

namespace weft::sched {

struct TaskType {
  Request request{};
  std::int64_t count = 0;
  double share = 0;  // of all tasks in the list it stands in
};

// The distinct requests of the tasks, the commonest first, equal counts by the request. A task without GPUs has
// gpu_milli 0, whatever it said.
[[nodiscard]] std::vector<TaskType> task_types(std::span<const Job> jobs);
[[nodiscard]] std::vector<TaskType> task_types(std::span<const Request> requests);

// The commonest types, as FGD tells them apart (CPU, GPUs, their part, their models; memory is left out), until they
// cover this share of the tasks; their shares then add up to 1. Tasks that ask for no GPU count too.
[[nodiscard]] std::vector<TaskType> typical_tasks(std::span<const TaskType> types, double cover = 0.95);

// The same list with requests that differ only in what the mask clears counted together.
[[nodiscard]] std::vector<TaskType> merged(std::span<const TaskType> types, Request (*mask)(Request));

}  // namespace weft::sched
