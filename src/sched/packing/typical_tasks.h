// Task types of a workload and their frequencies: what a scheduler may know about future jobs. The fragment measure of
// the FGD paper (USENIX ATC'23) evaluates a server against the typical ones, weft's own node value against all.
// Independent of the arrival order.
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
  double share = 0;  // of all tasks in its list
};

// The distinct requests of the tasks, most frequent first, ties ordered by request. gpu_milli of a task without GPUs is
// set to 0.
[[nodiscard]] std::vector<TaskType> task_types(std::span<const Job> jobs);
[[nodiscard]] std::vector<TaskType> task_types(std::span<const Request> requests);

// The most frequent types, as FGD distinguishes them (CPU, GPUs, their fraction, their models; memory is ignored),
// until they cover this share of the tasks; their shares are normalized to 1. Includes tasks without GPUs.
[[nodiscard]] std::vector<TaskType> typical_tasks(std::span<const TaskType> types, double cover = 0.95);

// The same list, merging requests that differ only in what the mask clears.
[[nodiscard]] std::vector<TaskType> merged(std::span<const TaskType> types, Request (*mask)(Request));

}  // namespace weft::sched
