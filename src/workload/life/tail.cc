// Iteration times vary: GPU clocks change from one to the next, and some iterations write a checkpoint. Paths do not
// change: queue pairs, and thus their hashes, persist for the whole job. Computes the cost of the tail over the run,
// and of one millisecond of it.
#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "workload/life/internal.h"

namespace weft::workload {
namespace {

// A GPU's clock varies from step to step by about a third of the variation between GPUs (temperature, neighbors'
// power). Our estimate: no measurement was available.
constexpr double kStepSpread = kGpuSpread / 3;

// Standard normal value (Box and Muller).
double normal(RandomStream& random) {
  const double u = std::max(1e-12, random.uniform());
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * random.uniform());
}

SimTime nearest_rank(const std::vector<SimTime>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size() - 1, rank == 0 ? 0 : rank - 1)];
}

}  // namespace

void add_tail(const LifeParts& parts, LifeResult& life) {
  Tail& tail = life.tail;
  tail.iterations = std::max<std::uint64_t>(1, parts.options.iterations);
  RandomStream random(parts.options.seed, "tail");
  const double gpus = static_cast<double>(parts.plan.gpus);
  // The step waits for the slowest GPU of this iteration. The expectation of the maximum is already included; its
  // spread shrinks as 1 / sqrt(2 ln n) (extreme value theory).
  const double shrink = gpus > 1 ? 1 / std::sqrt(1 + 2 * std::log(gpus)) : 1;
  const double compute = seconds_of(life.parts.compute) + seconds_of(life.parts.recompute);
  const double other = seconds_of(life.step) - compute;
  double total = 0;
  for (std::uint64_t i = 0; i < tail.iterations; ++i) {
    // The maximum of many values has a Gumbel distribution.
    const double gumbel = gpus > 1 ? -std::log(-std::log(std::max(1e-12, random.uniform()))) - 0.5772 : normal(random);
    const double slower = 1 + kStepSpread * shrink * gumbel;
    double seconds = std::max(0.0, compute * slower) + other;
    if (parts.checkpoint_steps > 0 && (i + 1) % parts.checkpoint_steps == 0)
      seconds += seconds_of(parts.checkpoint.stall);
    tail.times.push_back(time_from(seconds));
    total += seconds;
  }
  std::vector<SimTime> sorted = tail.times;
  std::sort(sorted.begin(), sorted.end());
  tail.p50 = nearest_rank(sorted, 0.5);
  tail.p99 = nearest_rank(sorted, 0.99);
  tail.max = sorted.back();
  tail.mean = time_from(total / static_cast<double>(tail.iterations));
  tail.millisecond_over_run = repeated(netsim::microseconds(1'000), parts.plan.steps);
  tail.tail_over_run = repeated(std::max(SimTime(0), tail.mean - tail.p50), parts.plan.steps);
}

}  // namespace weft::workload
