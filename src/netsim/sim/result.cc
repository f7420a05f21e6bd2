#include "netsim/sim/result.h"

#include <algorithm>

namespace weft::netsim {

namespace {

// The smallest value that at least `percent` % of the values do not exceed.
SimTime nearest_rank(const std::vector<SimTime>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

Percentiles percentiles_of(std::vector<SimTime> times) {
  Percentiles out;
  out.count = times.size();
  if (times.empty()) return out;
  std::sort(times.begin(), times.end());
  Uint128 sum = 0;
  for (const SimTime t : times) sum += static_cast<Uint128>(t.count());
  out.mean = SimTime(static_cast<std::int64_t>(sum / times.size()));
  out.p50 = nearest_rank(times, 50);
  out.p99 = nearest_rank(times, 99);
  out.min = times.front();
  out.max = times.back();
  return out;
}

}  // namespace weft::netsim
