// What a run of the twin found. Plain data: filled by play(), shown by views and pages, which compute nothing but sums.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "control/ids.h"
#include "twin/twin_world.h"

namespace weft::twin {

inline constexpr sched::Moment kTwinStart = sched::Moment(sched::seconds(1000).count());  // of every run

struct JobResult {
  std::string name;
  std::string tenant;
  std::int32_t nodes = 0;  // tasks
  std::int64_t milli_gpus = 0;
  Duration submitted{};
  TwinWorld::JobAccount account;
  bool held = false;  // by the controller, after too many failures
  // Effective training time ratio: productive time over the time since the first start, waits after interruptions
  // included; and over the time since submission. Negative: it never started.
  double ettr = -1;
  double ettr_queued = -1;
};

// GPUs at work on average over a period, for plots.
struct TwinSample {
  double computing = 0;  // work that is lost later included
  double overhead = 0;   // checkpoints, starts, stops, standing still
  double idle = 0;
  double out = 0;  // of service, or broken
};

struct CauseResult {
  std::string name;
  std::string title;
  std::uint64_t incidents = 0;
  std::uint64_t interruptions = 0;    // of jobs
  std::array<GpuTime, kUses> time{};  // lost by it

  [[nodiscard]] double hours(Use use) const { return gpu_hours(time[static_cast<std::size_t>(use)]); }
  [[nodiscard]] double node_out_hours() const;  // broken and out of service
  [[nodiscard]] double lost_hours() const;      // everything but productive and idle time
};

// From the incident to the report of telemetry, and until the node was in service again. None: it did not happen.
[[nodiscard]] std::optional<Duration> detection_time(const IncidentCourse& course);
[[nodiscard]] std::optional<Duration> out_time(const IncidentCourse& course);

struct TwinResult {
  std::string cluster;
  std::uint64_t seed = 1;
  Duration length{};
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  std::string fault_source;
  double fault_rate = 0;  // per 1,000 node-days, as asked for
  std::vector<CauseResult> causes;
  std::array<GpuTime, kUses> time{};  // of all GPUs
  std::vector<JobResult> jobs;
  std::vector<IncidentCourse> courses;
  std::vector<TwinSample> samples;
  Duration sample_period{};
  std::uint64_t records = 0;  // of the journal
  std::uint64_t turns = 0;
  std::uint64_t hash = 0;  // of the journal
  std::vector<std::string> notes;

  // Shares of the GPU time of the cluster.
  [[nodiscard]] double share(Use use) const;
  [[nodiscard]] double goodput() const { return share(Use::productive); }
  [[nodiscard]] double availability() const;  // in service, and not broken
  [[nodiscard]] double utilization() const;   // held by jobs
  // Effective training time ratio of all jobs, weighted with their GPU time.
  [[nodiscard]] double ettr() const;
  [[nodiscard]] std::uint64_t interruptions() const;
  [[nodiscard]] Duration waits() const;  // of all jobs, after interruptions
  [[nodiscard]] GpuTime total() const;
  [[nodiscard]] double lost_hours() const;  // GPU-hours, by all incidents
};

}  // namespace weft::twin
