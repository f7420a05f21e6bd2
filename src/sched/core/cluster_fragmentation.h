// Fragmentation score of the idle GPUs, over all levels at once: GPU fractions, GPUs of partly used servers, servers of
// NVLink domains, racks, leaf groups and pods that are too small for the gangs in demand.
//
// It generalizes FGD's measure (Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
// Fragmentation Gradient Descent", USENIX ATC 2023) from tasks to gangs. For each kind of job m with share p_m of the
// demand, the idle GPUs that cannot serve it are its fragments:
//   F = sum_m p_m * fragments_m / idle.
// On one server as in FGD: everything idle if no task fits, else the GPUs with too little left. For a gang of n tasks
// that needs one domain of a level, idle resources in domains that fit fewer than n tasks are fragments too. Each
// fragment is counted once, at the tightest level where it is lost, so the parts add up to the score.
//
// Incremental: follows the log of a State, so the cost of an update is proportional to the number of changes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/core/scheduler.h"
#include "sched/placement/state.h"

namespace weft::sched {

// A kind of job in demand.
struct DemandKind {
  Request task;
  std::int32_t tasks = 1;
  Level level = Level::cluster;  // all tasks in one domain of it
  double share = 1;              // relative weight, normalized by the sum
};

// The kinds of the scheduler's waiting and running GPU jobs, weighted by GPUs; only the `most` heaviest.
// natural_demand() if there are none.
[[nodiscard]] std::vector<DemandKind> demand_of(const Scheduler& scheduler, std::size_t most = 16);
// One GPU, half a server, a server, an NVLink domain, a leaf group: the sizes a machine is designed for, equally
// weighted.
[[nodiscard]] std::vector<DemandKind> natural_demand(const Machine& machine);

struct FragmentationScore {
  double total = 0;                  // 0: every kind can use all idle GPUs; 1: no kind can use any
  double gpu = 0;                    // lost on GPUs with too little left
  std::array<double, kLevels> at{};  // lost at Level::node (servers on which no task fits) and the levels above
  std::int64_t idle_gpu_milli = 0;   // on servers that are up
  std::vector<double> kinds;         // fragments_m / idle of each kind, in the order of the demand
};

class ClusterFragmentation {
 public:
  explicit ClusterFragmentation(std::vector<DemandKind> demand);
  [[nodiscard]] std::span<const DemandKind> demand() const { return demand_; }
  // Applies all changes of the state so far; call it with the same state, or a copy that has evolved from it.
  [[nodiscard]] FragmentationScore measure(const State& state);

 private:
  struct Cell {               // one kind on one node, in thousandths of a GPU
    std::int32_t small = 0;   // on GPUs with too little left
    std::int32_t usable = 0;  // on the others, if a task fits
    std::int32_t stuck = 0;   // on the others, if none fits
    std::uint16_t fit = 0;
  };
  struct Kind {
    std::vector<Cell> cells;           // by node
    std::vector<std::int64_t> tasks;   // by domain of the kind's level
    std::vector<std::int64_t> usable;  // likewise
    std::int64_t small = 0;            // sums over the nodes
    std::int64_t stuck = 0;
  };
  void look_at(const State& state, NodeId node);
  void start_over(const State& state);

  std::vector<DemandKind> demand_;
  std::vector<Kind> kinds_;
  std::uint64_t position_ = 0;
  bool filled_ = false;
};

}  // namespace weft::sched
