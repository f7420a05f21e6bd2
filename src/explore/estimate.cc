#include "explore/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "control/options.h"
#include "workload/storage/reliability.h"

namespace weft::explore {
namespace {

constexpr double kDay = 86'400e9;
constexpr Duration kMinInterval = sched::seconds(60);
constexpr Duration kMaxInterval = sched::seconds(4 * 3600);

double nanoseconds(Duration duration) { return static_cast<double>(duration.count()); }

// Mean time out of service of the node of an incident: power cycle, boot and validation, or people.
double mean_out(const twin::FaultModel& faults, const twin::Cause& cause) {
  const double automatic = nanoseconds(faults.power_cycle + faults.boot + faults.validate);
  const double people = std::max(0.0, 1 - cause.restart - cause.power_cycle);
  // The mean of a lognormal time is above its median.
  const double repair = nanoseconds(cause.repair) * std::exp(faults.repair_spread * faults.repair_spread / 2);
  return (cause.power_cycle + people) * automatic + people * (nanoseconds(faults.respond) + repair);
}

}  // namespace

double interruptions_per_day(const twin::FaultModel& faults, double scale, std::int64_t nodes) {
  return faults.rate() * scale * static_cast<double>(nodes) / 1'000;
}

Duration round_interval(Duration interval) {
  const Duration unit = interval >= sched::seconds(600) ? sched::seconds(60) : sched::seconds(10);
  return unit * std::max<std::int64_t>(1, (interval.count() + unit.count() / 2) / unit.count());
}

Duration first_interval(const twin::TwinJob& job, double interruptions_per_day) {
  const double rate = std::max(interruptions_per_day, 1e-9);
  const auto mtbf = Duration(static_cast<std::int64_t>(std::min(kDay / rate, 9e18)));
  const Duration daly = workload::daly_interval(std::max(job.stall, milliseconds(1)), mtbf);
  const Duration least = std::max(kMinInterval, job.write * 4);
  return round_interval(std::clamp(daly, least, std::max(least, kMaxInterval)));
}

double mean_nodes_out(const twin::FaultModel& faults, double scale, std::int64_t nodes) {
  double days = 0;  // out of service per 1,000 node-days
  for (const twin::Cause& cause : faults.causes) days += cause.rate * mean_out(faults, cause) / kDay;
  return days * scale * static_cast<double>(nodes) / 1'000;
}

std::vector<std::int64_t> spare_counts(double mean_out) {
  std::vector<std::int64_t> counts;
  double term = std::exp(-std::min(mean_out, 600.0));
  double sum = term;
  std::int64_t count = 0;
  for (const double share : {0.5, 0.8, 0.95, 0.99, 0.999}) {
    while (sum < share && count < 100'000) {
      ++count;
      term *= mean_out / static_cast<double>(count);
      sum += term;
    }
    if (counts.empty() || counts.back() != count) counts.push_back(count);
  }
  return counts;
}

Duration start_timeout_for(const twin::TwinJob& job) {
  const Duration usual = control::ControllerOptions().start_timeout;
  if (job.launch < usual / 2) return usual;
  const std::int64_t minutes = (job.launch.count() * 2 + 59'999'999'999) / 60'000'000'000;
  return std::max(usual, sched::seconds(60 * minutes));
}

double optimistic_days(const twin::TwinJob& job, Duration interval, double interruptions_per_day) {
  const double work = nanoseconds(job.work) / kDay;
  const double writes = interval.count() > 0 ? nanoseconds(job.stall) / nanoseconds(interval) : 0;
  const double each = nanoseconds(job.launch + job.load + job.restore + interval / 2) / kDay;
  const double lost = interruptions_per_day * each;
  if (lost >= 1) return std::numeric_limits<double>::infinity();
  return (nanoseconds(job.launch + job.load) / kDay + work * (1 + writes)) / (1 - lost);
}

}  // namespace weft::explore
