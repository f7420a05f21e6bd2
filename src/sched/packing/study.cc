#include "sched/packing/study.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "sched/packing/fragmentation.h"

namespace weft::sched {
namespace {

void shuffle(std::vector<std::uint32_t>& list, RandomStream& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
}

double percent(double part, double all) { return all > 0 ? 100 * part / all : 0; }

// Sums per percent requested, converted to means at the end.
class Curve {
 public:
  void add(double asked, const PackPoint& point) {
    const auto at = static_cast<std::size_t>(std::llround(asked));
    if (at >= points_.size()) {
      points_.resize(at + 1);
      counts_.resize(at + 1);
    }
    points_[at].allocated += point.allocated;
    points_[at].fragmented += point.fragmented;
    points_[at].share += point.share;
    ++counts_[at];
  }
  std::vector<PackPoint> finish() {
    for (std::size_t k = 0; k < points_.size(); ++k) {
      if (counts_[k] == 0) {  // one large task skipped this percent
        if (k > 0) points_[k] = points_[k - 1];
        continue;
      }
      const double count = counts_[k];
      points_[k] = {points_[k].allocated / count, points_[k].fragmented / count, points_[k].share / count};
    }
    return std::move(points_);
  }

 private:
  std::vector<PackPoint> points_;
  std::vector<std::int32_t> counts_;
};

}  // namespace

std::vector<std::uint32_t> draw_arrivals(std::span<const TaskType> types, std::int64_t capacity_milli, double demand,
                                         std::uint64_t seed) {
  RandomStream random(seed, "arrivals");
  const auto target = static_cast<std::int64_t>(std::llround(demand * static_cast<double>(capacity_milli)));
  std::vector<std::uint32_t> list;
  std::int64_t asked = 0;
  for (std::uint32_t t = 0; t < types.size(); ++t) {
    for (std::int64_t n = 0; n < types[t].count; ++n) list.push_back(t);
    asked += types[t].count * types[t].request.gpu_total();
  }
  if (asked == 0) return list;
  const std::vector<std::uint32_t> published = list;
  shuffle(list, random);
  while (asked > target) {
    asked -= types[list.back()].request.gpu_total();
    list.pop_back();
  }
  for (;;) {
    const std::uint32_t type = published[random.below(published.size())];
    const Milli more = types[type].request.gpu_total();
    if (asked + more > target) break;
    asked += more;
    list.push_back(type);
  }
  shuffle(list, random);
  return list;
}

PackRun run_pack(const Machine& machine, std::span<const TaskType> types, std::span<const std::uint32_t> arrivals,
                 PackPolicy policy, std::uint64_t seed) {
  TaskPacker scorer(machine, {types.begin(), types.end()}, policy, seed);
  const std::vector<TaskType> typical = typical_tasks(types);
  const double capacity = static_cast<double>(machine.gpus()) * kWholeGpu;
  std::vector<double> fragment;
  double fragments = 0;
  double cpu = 0;
  double memory = 0;
  for (std::size_t n = 0; n < machine.nodes().size(); ++n) {
    fragment.push_back(fragment_of(typical, machine.nodes()[n], scorer.free()[n]));
    fragments += fragment.back();
    cpu += machine.nodes()[n].cpu;
    memory += machine.nodes()[n].memory_mib;
  }
  PackRun run;
  run.seed = seed;
  Curve curve;
  double asked = 0;
  double given = 0;
  double given_cpu = 0;
  double given_memory = 0;
  for (const std::uint32_t type : arrivals) {
    const Request& request = types[type].request;
    asked += request.gpu_total();
    ++run.asked;
    if (const std::optional<Slot> slot = scorer.place(request)) {
      const std::size_t node = index_of(slot->node);
      const double now = fragment_of(typical, machine.nodes()[node], scorer.free()[node]);
      fragments += now - fragment[node];
      fragment[node] = now;
      given += request.gpu_total();
      given_cpu += request.cpu;
      given_memory += request.memory_mib;
      ++run.placed;
    }
    curve.add(percent(asked, capacity),
              {percent(given, capacity), percent(fragments, capacity), percent(fragments, capacity - given)});
  }
  run.curve = curve.finish();
  run.allocated = percent(given, capacity);
  run.cpu = percent(given_cpu, cpu);
  run.memory = percent(given_memory, memory);
  run.fragmented = percent(fragments, capacity);
  return run;
}

Spread spread_of(std::span<const double> values) {
  if (values.empty()) return {};
  Spread spread;
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

}  // namespace weft::sched
