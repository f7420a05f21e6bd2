#include "workload/storage/reliability.h"

#include <algorithm>
#include <cmath>

namespace weft::workload {
namespace {

constexpr double kDay = 86'400e9;  // ns

double ns(Duration d) { return static_cast<double>(d.count()); }

Duration duration(double nanoseconds) {
  constexpr double kMax = 9.2e18;  // slightly below the maximum of int64
  return Duration(static_cast<std::int64_t>(std::llround(std::clamp(nanoseconds, 0.0, kMax))));
}

}  // namespace

// Node failures are assumed to be independent, so rates add up (Meta RSC, arXiv 2410.21680, section 3.1; Llama 3, arXiv
// 2407.21783, section 3.3.4 counts 419 in 54 days on 2,048 servers).
Duration mtbf_of(double per_1000_node_days, std::int64_t servers) {
  const double per_day = per_1000_node_days / 1000.0 * static_cast<double>(servers);
  return per_day > 0 ? duration(kDay / per_day) : Duration(INT64_MAX);
}

double failures_per_1000_node_days(double failures, std::int64_t servers, Duration time) {
  const double node_days = static_cast<double>(servers) * ns(time) / kDay;
  return node_days > 0 ? failures / node_days * 1000.0 : 0.0;
}

double any_failure(double p, std::int64_t servers) {
  return -std::expm1(static_cast<double>(servers) * std::log1p(-std::clamp(p, 0.0, 1.0)));
}

// Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
Duration young_interval(Duration write, Duration mtbf) { return duration(std::sqrt(2 * ns(write) * ns(mtbf))); }

// Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006, without its
// higher terms; if a checkpoint takes longer than half the time between failures, the best choice is one after every
// failure-free interval.
Duration daly_interval(Duration write, Duration mtbf) {
  if (ns(write) >= ns(mtbf) / 2) return mtbf;
  return duration(std::sqrt(2 * ns(write) * ns(mtbf)) - ns(write));
}

Duration availability_interval(Duration write, Duration failure, Duration restart) {
  const double save = ns(write);
  return duration(save + std::sqrt(2 * (ns(failure) + ns(restart)) * save + save * save));
}

// Checkpoints take write / (interval + write) of the time; a failure costs half an interval on average, plus the
// recovery time (Daly 2006, to first order; RSC's expected ETTR, arXiv 2410.21680, is this with free checkpoints).
Losses losses_of(Duration interval, Duration write, Duration restart, Duration mtbf) {
  Losses losses;
  const double cycle = ns(interval) + ns(write);
  losses.checkpoints = cycle > 0 ? ns(write) / cycle : 0.0;
  if (ns(mtbf) > 0) {
    losses.lost_work = ns(interval) / 2 / ns(mtbf);
    losses.restarts = ns(restart) / ns(mtbf);
  }
  losses.effective = std::max(0.0, 1.0 - losses.checkpoints - losses.lost_work - losses.restarts);
  return losses;
}

double accelerator_utilization(Duration compute, Duration read) {
  const double longer = std::max(ns(compute), ns(read));
  return longer > 0 ? ns(compute) / longer : 1.0;
}

}  // namespace weft::workload
