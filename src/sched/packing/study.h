// The packing study of the FGD paper (USENIX ATC'23): tasks arrive one by one until they have requested more GPUs than
// there are, none leaves, a task that fits nowhere is dropped; the result is the share of GPUs allocated at the end.
// Generates the arrivals for a seed, runs a policy on them and measures. One pass, in memory, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sched/machine/machine.h"
#include "sched/packing/bound.h"
#include "sched/packing/task_packer.h"

namespace weft::sched {

// Indices into `types`: the tasks of the list and further samples from it until the next would request more than
// `demand` times the capacity, in random order. If the list itself requests more, tasks are dropped at random.
[[nodiscard]] std::vector<std::uint32_t> draw_arrivals(std::span<const TaskType> types, std::int64_t capacity_milli,
                                                       double demand, std::uint64_t seed);

// Means over the arrivals at which k percent (rounded) of the capacity had been requested; all in percent.
struct PackPoint {
  double allocated = 0;   // of all GPUs
  double fragmented = 0;  // of all GPUs, by FGD's measure
  double share = 0;       // of the idle GPUs, fragmented
};

struct PackRun {
  std::uint64_t seed = 0;
  std::vector<PackPoint> curve;  // by percent requested
  double allocated = 0;          // percent at the end, of GPUs, cores and memory
  double cpu = 0;
  double memory = 0;
  double fragmented = 0;
  std::int64_t asked = 0;  // tasks
  std::int64_t placed = 0;
  [[nodiscard]] double at(std::size_t percent) const { return percent < curve.size() ? curve[percent].allocated : 0; }
};

[[nodiscard]] PackRun run_pack(const Machine& machine, std::span<const TaskType> types,
                               std::span<const std::uint32_t> arrivals, PackPolicy policy, std::uint64_t seed);

// Mean and standard deviation over runs (n - 1; 0 for one run).
struct Spread {
  double mean = 0;
  double deviation = 0;
};
[[nodiscard]] Spread spread_of(std::span<const double> values);

}  // namespace weft::sched
