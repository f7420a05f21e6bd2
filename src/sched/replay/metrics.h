// Metrics of a replay: utilization, waits, slowdown, preemption cost, backfill, fragmentation of the idle GPUs,
// fairness, and why jobs waited. Numbers only; they are presented in replay/view.h and replay/page.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/replay/replay.h"

namespace weft::sched {

// For jobs that started. Seconds.
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

// Jobs by requested GPUs. Classes of 1, 2 to 8 (one server), 9 to 64 and more; those without GPUs are separate.
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
  double waited_gpu_hours = 0;  // requested GPUs times wait
};

struct ReplayMetrics {
  std::string policy;
  double utilization = 0;           // of the GPUs that were up, from the first submission to the last end
  double utilization_arriving = 0;  // same, up to the last submission
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
  // Of the GPU time that was available while jobs waited and that strict queue order would have left idle: the share
  // used by jobs that passed others.
  double backfill_efficiency = 0;
  double fragmentation = 0;  // of the idle GPUs, mean over the time with waiting jobs
  double score = 0;          // the fragmentation score over all levels, likewise
  double fairness = 0;       // Jain's index over tenants with unmet demand, mean over the time with several; 0: never
  double waiting_share = 0;  // share of the time in which jobs waited
  double enough_share = 0;   // share of that in which enough GPUs in total were idle for one of the jobs
  double oldest_enough_share = 0;
  std::uint32_t longest_job = UINT32_MAX;  // the job with the longest wait
  std::vector<LevelFigures> levels;        // jobs that span several servers
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

// Quantile by nearest rank; 0 if there are no values. Values must be sorted.
[[nodiscard]] double quantile(std::span<const double> sorted, double share);

}  // namespace weft::sched
