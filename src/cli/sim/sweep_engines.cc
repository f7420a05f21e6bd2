#include "cli/sim/sweep_engines.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::cli {
namespace {

constexpr std::size_t kMaxTasks = 1'000;

template <class Task>
SweepTask::Phase phase_of(const Task& task) {
  if (task.phase == Task::Phase::ended) return SweepTask::Phase::ended;
  return task.phase == Task::Phase::running ? SweepTask::Phase::running : SweepTask::Phase::waiting;
}

}  // namespace

Result<std::vector<SweepTask>> SlurmSweepEngine::list(const std::string& name) {
  const Result<std::vector<world::ArrayTask>> listed = arrays_.list(name);
  if (!listed.ok()) return listed.error();
  std::vector<SweepTask> tasks;
  for (const world::ArrayTask& each : *listed) {
    SweepTask task;
    task.array = std::to_string(each.job);
    task.index = each.index;
    task.phase = each.state == "PENDING" ? SweepTask::Phase::waiting : SweepTask::Phase::running;
    if (!each.is_live()) task.phase = SweepTask::Phase::ended;
    if (!each.is_live() && each.state != "COMPLETED") task.end = each.state;
    task.reason = each.reason;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<std::string> SlurmSweepEngine::submit(const std::string& name, const std::vector<std::uint64_t>& missing) {
  plan_.name = name;
  plan_.missing = missing;
  const Result<std::uint32_t> submitted = arrays_.submit(workload::slurm_sweep_script(plan_));
  if (!submitted.ok()) return submitted.error();
  return std::to_string(*submitted);
}

std::string KubeSweepEngine::how_to_end(const std::string& /*array*/) const {
  return fmt::format("`kubectl delete jobs,configmaps -n {} -l {}={}`", plan_.kube_namespace, world::kArrayLabel,
                     plan_.name);
}

Result<std::vector<SweepTask>> KubeSweepEngine::list(const std::string& name) {
  plan_.name = name;
  Result<std::vector<world::KubeArrayTask>> listed = arrays_.list(name);
  if (!listed.ok()) return listed.error();
  unread_.clear();
  std::vector<SweepTask> tasks;
  for (world::KubeArrayTask& each : *listed) {
    tasks.push_back({each.array, each.index, phase_of(each), each.end, each.reason});
    if (!each.pod.empty() && !read_.contains(each.pod)) unread_.push_back(std::move(each));
  }
  return tasks;
}

Result<std::string> KubeSweepEngine::submit(const std::string& name, const std::vector<std::uint64_t>& missing) {
  const std::vector<std::string> tasks = divide_points(missing);
  plan_.name = name;
  plan_.tasks = tasks.size();
  plan_.files[kPointsFile] = fmt::format("{}\n", fmt::join(tasks, "\n"));
  return arrays_.submit(plan_);
}

TaskOutputs KubeSweepEngine::outputs() {
  TaskOutputs found;
  for (const world::KubeArrayTask& task : unread_) {
    Result<std::string> text = arrays_.output(task);
    if (text.ok()) {
      found.texts.push_back(std::move(*text));
      read_.insert(task.pod);
    } else if (found.problem.empty()) {
      found.problem = fmt::format("the output of pod {} cannot be read: {}", task.pod, text.error().text());
    }
  }
  unread_.clear();
  return found;
}

std::vector<std::string> divide_points(const std::vector<std::uint64_t>& missing) {
  const std::size_t each = std::max<std::size_t>(1, (missing.size() + kMaxTasks - 1) / kMaxTasks);
  std::vector<std::string> tasks;
  for (std::size_t first = 0; first < missing.size(); first += each) {
    const std::size_t count = std::min(each, missing.size() - first);
    tasks.push_back(workload::index_list(std::span(missing).subspan(first, count)));
  }
  return tasks;
}

}  // namespace weft::cli
