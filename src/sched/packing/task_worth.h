// Worth of each task type when future tasks follow a mix of known proportions and as much of that mix as possible must
// fit: the dual prices of the linear program "the largest L such that L times the mix fits in what is free". A type
// that needs scarce resources (whole GPUs, GPUs with free cores) becomes expensive, one that fits into leftovers cheap.
// Computed by multiplicative weights: the worth of types that the best fill at the current worths selects too rarely
// rises, the others fall. Uses only the mix, never the order of arrivals.
#pragma once

#include <span>
#include <vector>

#include "sched/packing/node_value.h"

namespace weft::sched {

struct WorthOptions {
  int rounds = 20;    // of adjustment
  double rate = 0.3;  // of the first round: the log of the worth of a type that is never selected rises by half of this
};

// Servers in the same state.
struct NodeKind {
  const NodeShape* shape = nullptr;
  NodeFree free{};
  double count = 1;
};
// Groups empty servers that differ only in name and memory: they have the same node value.
[[nodiscard]] std::vector<NodeKind> empty_kinds(std::span<const NodeShape> nodes);
// Servers in their current state, ungrouped.
[[nodiscard]] std::vector<NodeKind> kinds_of(std::span<const NodeShape> nodes, std::span<const NodeFree> free);

class TaskWorth {
 public:
  TaskWorth(std::span<const TaskType> mix, std::span<const NodeShape> nodes, Milli step);

  // Continues from the current worths for what is free now. Considers the tasks of the mix whose GPUs add up to the
  // idle GPUs.
  void learn(std::span<const NodeKind> kinds, const WorthOptions& options);
  [[nodiscard]] const NodeValue& values() const { return values_; }

 private:
  void adjust(double expected, std::span<const double> used, double cores, double step);

  NodeValue values_;
  double mean_gpu_ = 0;  // average request per task of the mix, in thousandths of a GPU
  double tasks_ = 0;
  std::vector<double> worths_;
  double core_worth_ = 0;
};

}  // namespace weft::sched
