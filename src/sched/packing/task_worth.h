// What a task of each type is worth when the tasks to come are a mix of known proportions and as much of that mix as
// possible must find room: the dual prices of the linear program "the largest L such that L times the mix fits in what
// is free". A type whose room is scarce (whole GPUs, GPUs beside free cores) gets dear, one that fits into leftovers
// cheap. Found by multiplicative weights: types that the best fill at the present worths takes too seldom rise, the
// others fall. Uses the mix alone, never the order of arrivals.
#pragma once

#include <span>
#include <vector>

#include "sched/packing/node_value.h"

namespace weft::sched {

struct WorthOptions {
  int rounds = 20;    // of adjusting
  double rate = 0.3;  // of the first round: a type that is not taken at all rises by half of this, in logarithm
};

// Servers in one state.
struct NodeKind {
  const NodeShape* shape = nullptr;
  NodeFree free{};
  double count = 1;
};
// Empty servers that are equal but for their names and memory counted together: a node value sees no difference.
[[nodiscard]] std::vector<NodeKind> empty_kinds(std::span<const NodeShape> nodes);
// Servers as they are, one by one.
[[nodiscard]] std::vector<NodeKind> kinds_of(std::span<const NodeShape> nodes, std::span<const NodeFree> free);

class TaskWorth {
 public:
  TaskWorth(std::span<const TaskType> mix, std::span<const NodeShape> nodes, Milli step);

  // Goes on from the present worths for what is free now. The tasks that are weighed are those of the mix whose GPUs
  // add up to what is idle.
  void learn(std::span<const NodeKind> kinds, const WorthOptions& options);
  [[nodiscard]] const NodeValue& values() const { return values_; }

 private:
  void adjust(double expected, std::span<const double> used, double cores, double step);

  NodeValue values_;
  double mean_gpu_ = 0;  // thousandths of a GPU that a task of the mix asks for on average
  double tasks_ = 0;
  std::vector<double> worths_;
  double core_worth_ = 0;
};

}  // namespace weft::sched
