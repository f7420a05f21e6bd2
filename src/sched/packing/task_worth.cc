#include "sched/packing/task_worth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace weft::sched {
namespace {

// Beyond three times the expected count a type falls no faster: one round's fill selects all of one type or none.
constexpr double kMaxExcess = 3.0;
// A core has a positive worth if tasks without GPUs exist, at most that of a GPU server's last core.
constexpr double kMinCore = 0.05;
constexpr double kMaxCore = 200.0;

double change(double used, double expected) { return 1.0 - std::min(kMaxExcess, used / expected); }

}  // namespace

std::vector<NodeKind> empty_kinds(std::span<const NodeShape> nodes) {
  std::map<std::tuple<Milli, std::int32_t, std::int32_t, std::int32_t>, NodeKind> kinds;
  for (const NodeShape& shape : nodes) {
    const auto [kind, fresh] =
        kinds.try_emplace({shape.cpu, shape.gpus, shape.model, shape.pool}, NodeKind{&shape, empty_node(shape), 0});
    kind->second.count += 1;
  }
  std::vector<NodeKind> list;
  list.reserve(kinds.size());
  for (const auto& [key, kind] : kinds) list.push_back(kind);
  return list;
}

std::vector<NodeKind> kinds_of(std::span<const NodeShape> nodes, std::span<const NodeFree> free) {
  std::vector<NodeKind> list;
  for (std::size_t n = 0; n < free.size(); ++n) {
    if (free[n].up) list.push_back({&nodes[n], free[n], 1});
  }
  return list;
}

TaskWorth::TaskWorth(std::span<const TaskType> mix, std::span<const NodeShape> nodes, Milli step)
    : values_(mix, nodes, step) {
  for (const TaskType& type : mix) {
    tasks_ += static_cast<double>(type.count);
    mean_gpu_ += static_cast<double>(type.count) * type.request.gpu_total();
  }
  if (tasks_ > 0) mean_gpu_ /= tasks_;
  for (const NodeValue::Item& item : values_.items()) worths_.push_back(item.worth);
  core_worth_ = values_.cores() > 0 ? 1.0 : 0.0;
}

void TaskWorth::adjust(double expected, std::span<const double> used, double cores, double step) {
  // Half a task more than expected: the worth of a type with no tasks left to expect must not fall indefinitely.
  constexpr double kHalf = 0.5;
  double sum = 0;
  for (std::size_t i = 0; i < worths_.size(); ++i) {
    const double count = values_.items()[i].count / tasks_;
    worths_[i] *= std::exp(kHalf * step * change(used[i], expected * count + kHalf));
    sum += count * worths_[i];
  }
  if (values_.cores() > 0) {
    const double count = values_.cores() / tasks_;
    core_worth_ *= std::exp(kHalf * step * change(cores, expected * count + kHalf));
    core_worth_ = std::clamp(core_worth_, kMinCore, kMaxCore);
    sum += count * core_worth_;
  }
  // Only the proportions matter: on average a task is worth the GPUs it requests.
  const double factor = mean_gpu_ / sum;
  for (double& worth : worths_) worth *= factor;
  core_worth_ *= factor;
}

void TaskWorth::learn(std::span<const NodeKind> kinds, const WorthOptions& options) {
  if (mean_gpu_ <= 0) return;
  double idle = 0;
  for (const NodeKind& kind : kinds) idle += kind.count * kind.free.gpu_total();
  const double expected = idle / mean_gpu_;
  std::vector<double> used(worths_.size());
  std::vector<double> sums(worths_.size(), 0.0);
  double core_sum = 0;
  int summed = 0;
  for (int round = 0; round < options.rounds; ++round) {
    values_.set_worths(worths_, core_worth_);
    std::fill(used.begin(), used.end(), 0.0);
    double cores = 0;
    for (const NodeKind& kind : kinds) values_.fill(*kind.shape, kind.free, kind.count, used, cores);
    adjust(expected, used, cores, options.rate / std::sqrt(1.0 + 0.2 * round));
    if (2 * round < options.rounds) continue;
    // The worths oscillate around the solution; their mean over the second half is closer than the last.
    ++summed;
    core_sum += core_worth_;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += worths_[i];
  }
  if (summed > 0) {
    for (std::size_t i = 0; i < sums.size(); ++i) worths_[i] = sums[i] / summed;
    core_worth_ = core_sum / summed;
  }
  values_.set_worths(worths_, core_worth_);
}

}  // namespace weft::sched
