#include "sched/task_worth.h"

#include <algorithm>
#include <cmath>

namespace weft::sched {
namespace {

// Beyond three times what is expected a type falls no faster: one round's fill takes all of one type or none.
constexpr double kMostExcess = 3.0;
// A core is worth something where tasks without GPUs exist, and never more than a GPU server's last core could be.
constexpr double kLeastCore = 0.05;
constexpr double kMostCore = 200.0;

double change(double used, double expected) { return 1.0 - std::min(kMostExcess, used / expected); }

}  // namespace

TaskWorth::TaskWorth(std::span<const TaskType> mix, Milli step) : values_(mix, step) {
  for (const TaskType& type : mix) {
    tasks_ += static_cast<double>(type.count);
    mean_gpu_ += static_cast<double>(type.count) * type.request.gpu_total();
  }
  if (tasks_ > 0) mean_gpu_ /= tasks_;
  for (const NodeValue::Item& item : values_.items()) worths_.push_back(item.worth);
  core_worth_ = values_.cores() > 0 ? 1.0 : 0.0;
}

void TaskWorth::adjust(double expected, std::span<const double> used, double cores, double step) {
  // Half a task more than expected: a type of which none may come any more must not fall without end.
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
    core_worth_ = std::clamp(core_worth_, kLeastCore, kMostCore);
    sum += count * core_worth_;
  }
  // Only their proportions mean anything: on average a task is worth the GPUs it asks for.
  const double factor = mean_gpu_ / sum;
  for (double& worth : worths_) worth *= factor;
  core_worth_ *= factor;
}

void TaskWorth::learn(std::span<const NodeShape> nodes, std::span<const NodeFree> free, const WorthOptions& options) {
  if (mean_gpu_ <= 0) return;
  double idle = 0;
  for (const NodeFree& each : free) idle += each.gpu_total();
  const double expected = idle / mean_gpu_;
  std::vector<double> used(worths_.size());
  std::vector<double> sums(worths_.size(), 0.0);
  double core_sum = 0;
  int summed = 0;
  for (int round = 0; round < options.rounds; ++round) {
    values_.set_worths(worths_, core_worth_);
    std::fill(used.begin(), used.end(), 0.0);
    double cores = 0;
    for (std::size_t n = 0; n < free.size(); ++n) {
      if (free[n].up) values_.fill(nodes[n], free[n], 1.0, used, cores);
    }
    adjust(expected, used, cores, options.rate / std::sqrt(1.0 + 0.2 * round));
    if (2 * round < options.rounds) continue;
    // The worths swing around the solution; their mean over the second half lies nearer than the last.
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
