// What a replay came to: utilization, waits, slowdown, what preemption cost, what backfill used, how broken up the idle
// part was, how fair it went, and why jobs waited. Figures only; how they are shown is in replay_view and replay_page.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/replay/replay.h"

namespace weft::sched {

// Of jobs that started. Seconds.
struct WaitFigures {
  std::string name;  // of the class
  std::uint64_t jobs = 0;
  double gpu_hours = 0;  // held
  double mean = 0;
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double longest = 0;
  double slowdown = 0;  // mean of the bounded slowdown
};

// Jobs by the GPUs they ask for. Classes of 1, 2 to 8 (one server), 9 to 64 and more; those without are apart.
inline constexpr std::array<std::string_view, 5> kSizeNames = {"no GPU", "1 GPU", "2-8 GPUs", "9-64 GPUs", ">64 GPUs"};
[[nodiscard]] std::size_t size_class(const Job& job);

struct LevelFigures {
  Level level = Level::node;
  std::uint64_t jobs = 0;
  double gpu_hours = 0;
};

struct ReasonFigures {
  Reason reason = Reason::none;
  std::uint64_t jobs = 0;
  double waited_gpu_hours = 0;  // GPUs asked for times wait
};

struct ReplayMetrics {
  std::string policy;
  double utilization = 0;           // of the GPUs that were up, from the first submission to the last end
  double utilization_arriving = 0;  // to the last submission
  double makespan = 0;              // seconds
  double used_gpu_hours = 0;
  WaitFigures all;
  std::vector<WaitFigures> by_size;      // those with jobs
  std::vector<WaitFigures> by_tenant;    // most GPU-hours first
  std::vector<WaitFigures> by_run_time;  // shortest first
  double slowdown_median = 0;
  double slowdown_p99 = 0;
  double lost_gpu_hours = 0;
  double backfilled_starts = 0;     // share
  double backfilled_gpu_hours = 0;  // share
  // Of the GPU time that was there while jobs waited and that the order of the queue alone would have left idle: the
  // part that jobs which passed others made use of.
  double backfill_efficiency = 0;
  double fragmentation = 0;  // of the idle GPUs, mean over the time with work waiting
  double score = 0;          // the one score over all levels, likewise
  double fairness = 0;       // Jain's index over tenants that want more, mean over the time with several; 0: never
  double waiting_share = 0;  // of the time, work waited
  double enough_share = 0;   // of that, enough GPUs for one of the jobs idled in sum
  double oldest_enough_share = 0;
  std::uint32_t longest_job = UINT32_MAX;  // whose wait was longest
  std::vector<LevelFigures> levels;        // jobs of several servers
  std::vector<ReasonFigures> reasons;      // most GPU-hours first
  std::uint64_t started = 0;
  std::uint64_t never_started = 0;
  std::uint64_t killed = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t failures = 0;
  std::uint64_t moves = 0;
  std::uint64_t resizes = 0;
  std::uint64_t decisions = 0;
  std::uint64_t hash = 0;
};

[[nodiscard]] ReplayMetrics measure(std::string policy, std::span<const Job> jobs, const ReplayResult& result);

// The value below which a share of the values lies (nearest rank); 0 where there are none. Sorted values.
[[nodiscard]] double quantile(std::span<const double> sorted, double share);

}  // namespace weft::sched
