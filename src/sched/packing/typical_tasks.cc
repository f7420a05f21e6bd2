#include "sched/packing/typical_tasks.h"

#include <algorithm>
#include <map>

namespace weft::sched {
namespace {

std::vector<TaskType> by_popularity(const std::map<Request, std::int64_t>& counts) {
  std::vector<TaskType> types;
  std::int64_t total = 0;
  for (const auto& [request, count] : counts) {
    types.push_back({request, count, 0});
    total += count;
  }
  std::stable_sort(types.begin(), types.end(), [](const TaskType& a, const TaskType& b) { return a.count > b.count; });
  for (TaskType& type : types) type.share = static_cast<double>(type.count) / static_cast<double>(total);
  return types;
}

Request plain(Request request) {
  if (request.gpus == 0) request.gpu_milli = 0;
  return request;
}

Request without_memory(Request request) {
  request.memory_mib = 0;
  return request;
}

}  // namespace

std::vector<TaskType> task_types(std::span<const Job> jobs) {
  std::map<Request, std::int64_t> counts;
  for (const Job& job : jobs) counts[plain(job.task)] += job.tasks;
  return by_popularity(counts);
}

std::vector<TaskType> task_types(std::span<const Request> requests) {
  std::map<Request, std::int64_t> counts;
  for (const Request& request : requests) ++counts[plain(request)];
  return by_popularity(counts);
}

std::vector<TaskType> merged(std::span<const TaskType> types, Request (*mask)(Request)) {
  std::map<Request, std::int64_t> counts;
  for (const TaskType& type : types) counts[mask(type.request)] += type.count;
  return by_popularity(counts);
}

std::vector<TaskType> typical_tasks(std::span<const TaskType> types, double cover) {
  std::vector<TaskType> typical = merged(types, without_memory);
  double covered = 0;
  std::size_t kept = 0;
  while (kept < typical.size() && covered < cover) covered += typical[kept++].share;
  typical.resize(kept);
  for (TaskType& type : typical) type.share /= covered;
  return typical;
}

}  // namespace weft::sched
