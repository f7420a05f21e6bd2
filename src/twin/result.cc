#include "twin/result.h"

namespace weft::twin {

double CauseResult::node_out_hours() const { return hours(Use::broken) + hours(Use::repair) + hours(Use::person); }

double CauseResult::lost_hours() const {
  double lost = 0;
  for (std::size_t u = 0; u < kUses; ++u) {
    const auto use = static_cast<Use>(u);
    if (use != Use::productive && use != Use::idle) lost += hours(use);
  }
  return lost;
}

std::optional<Duration> detection_time(const IncidentCourse& course) {
  if (course.detected == sched::Moment()) return std::nullopt;
  return course.detected - (kTwinStart + course.incident.at);
}

std::optional<Duration> out_time(const IncidentCourse& course) {
  if (course.returned == sched::Moment()) return std::nullopt;
  return course.returned - (kTwinStart + course.incident.at);
}

GpuTime TwinResult::total() const {
  GpuTime total = 0;
  for (const GpuTime each : time) total += each;
  return total;
}

double TwinResult::share(Use use) const {
  const GpuTime all = total();
  return all == 0 ? 0 : static_cast<double>(time[static_cast<std::size_t>(use)]) / static_cast<double>(all);
}

double TwinResult::availability() const { return 1 - share(Use::broken) - share(Use::repair) - share(Use::person); }

double TwinResult::utilization() const { return availability() - share(Use::idle); }

double TwinResult::ettr() const {
  double productive = 0;
  double all = 0;
  for (const JobResult& job : jobs) {
    for (const GpuTime each : job.account.time) all += static_cast<double>(each);
    all += static_cast<double>(gpu_time(job.milli_gpus, job.account.waits));
    productive += static_cast<double>(job.account.time[static_cast<std::size_t>(Use::productive)]);
  }
  return all > 0 ? productive / all : 0;
}

std::uint64_t TwinResult::interruptions() const {
  std::uint64_t sum = 0;
  for (const JobResult& job : jobs) sum += job.account.interruptions;
  return sum;
}

Duration TwinResult::waits() const {
  Duration sum{};
  for (const JobResult& job : jobs) sum += job.account.waits;
  return sum;
}

double TwinResult::lost_hours() const {
  double sum = 0;
  for (std::size_t c = 1; c < causes.size(); ++c) sum += causes[c].lost_hours();
  return sum;
}

}  // namespace weft::twin
