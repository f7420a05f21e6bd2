#include "workload/control/events.h"

#include <algorithm>
#include <cmath>

#include "workload/storage/limits.h"

namespace weft::workload {
namespace {

// Below this a medium counts as dark.
constexpr double kDark = 0.001;

double links_of(const model::Cluster& cluster, model::DeviceId device, model::FabricKind fabric) {
  double sum = 0;
  for (const model::PortId id : cluster.ports_of(device)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric == fabric) sum += static_cast<double>(port.speed_mbps) * 125'000;
  }
  return sum;
}

struct Interval {
  double start;
  double end;
};

// Time covered by at least one of the intervals, which are sorted by start.
double covered(const std::vector<Interval>& intervals) {
  double sum = 0;
  double until = 0;
  for (const Interval& interval : intervals) {
    sum += std::max(0.0, interval.end - std::max(interval.start, until));
    until = std::max(until, interval.end);
  }
  return sum;
}

}  // namespace

double fabric_capacity(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts,
                       model::FabricKind fabric) {
  double sum = 0;
  for (const model::DeviceId host : hosts) sum += links_of(cluster, host, fabric);
  if (sum > 0) return sum;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0) continue;
    const model::PoolRole role = *(*cluster.spec().pools)[static_cast<std::size_t>(group.pool)].role;
    if (role != model::PoolRole::infrastructure && role != model::PoolRole::cpu) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      sum += links_of(cluster, static_cast<model::DeviceId>(model::index_of(group.first) + i), fabric);
    }
  }
  return sum;
}

StateBuilder::StateBuilder(int number, std::string name, SimTime start) {
  state_.number = number;
  state_.name = std::move(name);
  state_.start = start;
}

void StateBuilder::capacity(Medium medium, double bytes_per_second) {
  capacities_[static_cast<std::size_t>(medium)] = bytes_per_second;
}

void StateBuilder::add(Step step, double start) {
  LifeEvent event;
  event.what = step.what;
  event.protocol = step.protocol;
  event.medium = step.medium;
  event.start = state_.start + sim_time(start);
  event.duration = sim_time(step.seconds);
  event.bytes = Bytes(std::llround(std::min(step.bytes, 9e18)));
  event.detail = step.detail;
  state_.events.push_back(std::move(event));
  now_ = std::max(now_, start + step.seconds);
  starts_.push_back(start);
  steps_.push_back(std::move(step));
}

void StateBuilder::then(Step step) { add(std::move(step), now_); }

void StateBuilder::beside(Step step, double after) {
  const double start = (starts_.empty() ? 0.0 : starts_.back()) + after;
  add(std::move(step), start);
}

LifeState StateBuilder::finish(Medium main) const {
  LifeState state = state_;
  state.duration = sim_time(now_);
  state.main = main;
  for (std::size_t m = 0; m < kMedia; ++m) {
    MediumUse& use = state.use[m];
    std::vector<Interval> intervals;
    double bytes = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (static_cast<std::size_t>(step.medium) != m || step.bytes <= 0 || step.seconds <= 0) continue;
      bytes += step.bytes;
      intervals.push_back({starts_[i], starts_[i] + step.seconds});
      if (capacities_[m] > 0) use.peak = std::max(use.peak, std::min(1.0, step.bytes / step.seconds / capacities_[m]));
    }
    use.bytes = Bytes(std::llround(std::min(bytes, 9e18)));
    use.busy = sim_time(covered(intervals));
    if (capacities_[m] > 0 && now_ > 0) use.mean = std::min(1.0, bytes / now_ / capacities_[m]);
    const auto medium = static_cast<Medium>(m);
    if (medium != main && medium != Medium::host && use.peak < kDark) state.dark.push_back(medium);
  }
  return state;
}

}  // namespace weft::workload
