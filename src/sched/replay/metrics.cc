#include "sched/replay/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::sched {
namespace {

// A short job that waits a minute is not badly served: Feitelson's bound on the run time.
constexpr double kSlowdownBound = 10;  // seconds

constexpr std::array<std::string_view, 5> kRunNames = {"<1 min", "1-10 min", "10-60 min", "1-10 h", ">10 h"};
constexpr std::array<double, 4> kRunEdges = {60, 600, 3600, 36'000};  // seconds

struct Class {
  WaitFigures figures;
  std::vector<double> waits;
  double slowdowns = 0;
  std::uint64_t ended = 0;

  void add(const JobOutcome& outcome, double slowdown) {
    ++figures.jobs;
    figures.gpu_hours += outcome.gpu_seconds / 3600;
    waits.push_back(seconds_of(outcome.waited));
    if (slowdown <= 0) return;
    slowdowns += slowdown;
    ++ended;
  }
  WaitFigures finish(std::string_view name) {
    std::sort(waits.begin(), waits.end());
    figures.name = name;
    double sum = 0;
    for (const double wait : waits) sum += wait;
    if (!waits.empty()) {
      figures.mean = sum / static_cast<double>(waits.size());
      figures.longest = waits.back();
    }
    figures.median = quantile(waits, 0.5);
    figures.p90 = quantile(waits, 0.9);
    figures.p99 = quantile(waits, 0.99);
    if (ended > 0) figures.slowdown = slowdowns / static_cast<double>(ended);
    return std::move(figures);
  }
};

// (wait + run) / max(run, bound), at least 1; 0 for a job that has not ended.
double slowdown_of(const JobOutcome& outcome) {
  if (outcome.end == kNever) return 0;
  const double whole = seconds_of(outcome.end - outcome.submitted);
  const double run = whole - seconds_of(outcome.waited);
  return std::max(1.0, whole / std::max(run, kSlowdownBound));
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

void measure_samples(const ReplayResult& result, ReplayMetrics& metrics) {
  double broken = 0;
  double score = 0;
  double fair = 0;
  std::uint64_t waiting = 0;
  std::uint64_t several = 0;
  for (const Sample& sample : result.samples) {
    if (sample.waiting_jobs > 0) {
      broken += sample.fragment_permille / 1000.0;
      score += sample.score_permille / 1000.0;
      ++waiting;
    }
    if (sample.fairness_permille > 0) {
      fair += sample.fairness_permille / 1000.0;
      ++several;
    }
  }
  metrics.fragmentation = share(broken, static_cast<double>(waiting));
  metrics.score = share(score, static_cast<double>(waiting));
  metrics.fairness = share(fair, static_cast<double>(several));
}

void measure_sums(const ReplayResult& result, ReplayMetrics& metrics) {
  metrics.utilization = share(result.sums.used_gpu_seconds, result.sums.up_gpu_seconds);
  metrics.utilization_arriving = share(result.arriving.used_gpu_seconds, result.arriving.up_gpu_seconds);
  metrics.makespan = seconds_of(result.end - result.begin);
  metrics.used_gpu_hours = result.sums.used_gpu_seconds / 3600;
  metrics.waiting_share = share(result.sums.waiting_seconds, metrics.makespan);
  metrics.enough_share = share(result.sums.enough_seconds, result.sums.waiting_seconds);
  metrics.oldest_enough_share = share(result.sums.oldest_enough_seconds, result.sums.waiting_seconds);
}

void measure_levels(std::span<const Job> jobs, const ReplayResult& result, ReplayMetrics& metrics) {
  std::array<LevelFigures, kLevels> levels;
  std::map<Reason, ReasonFigures> reasons;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobOutcome& outcome = result.jobs[i];
    if (outcome.first_start != kNever && outcome.tasks > 1) {
      LevelFigures& level = levels[static_cast<std::size_t>(outcome.level)];
      ++level.jobs;
      level.gpu_hours += outcome.gpu_seconds / 3600;
    }
    if (outcome.waited.count() == 0 || outcome.first_reason == Reason::none) continue;
    ReasonFigures& reason = reasons[outcome.first_reason];
    ++reason.jobs;
    reason.waited_gpu_hours += seconds_of(outcome.waited) / 3600 * static_cast<double>(jobs[i].gpu_milli()) / 1000.0;
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i].level = static_cast<Level>(i);
    if (levels[i].jobs > 0) metrics.levels.push_back(levels[i]);
  }
  for (auto& [reason, figures] : reasons) {
    figures.reason = reason;
    metrics.reasons.push_back(figures);
  }
  std::stable_sort(metrics.reasons.begin(), metrics.reasons.end(), [](const ReasonFigures& a, const ReasonFigures& b) {
    return a.waited_gpu_hours > b.waited_gpu_hours;
  });
}

// The classes by which waits are reported.
struct Classes {
  Class all;
  std::array<Class, kSizeNames.size()> sizes;
  std::array<Class, kRunNames.size()> runs;
  std::map<std::string, Class> tenants;
};

void measure_waits(Classes& classes, ReplayMetrics& metrics) {
  metrics.all = classes.all.finish("all");
  for (std::size_t i = 0; i < classes.sizes.size(); ++i) {
    if (classes.sizes[i].figures.jobs > 0) metrics.by_size.push_back(classes.sizes[i].finish(kSizeNames[i]));
  }
  for (std::size_t i = 0; i < classes.runs.size(); ++i) {
    if (classes.runs[i].figures.jobs > 0) metrics.by_run_time.push_back(classes.runs[i].finish(kRunNames[i]));
  }
  for (auto& [name, each] : classes.tenants) metrics.by_tenant.push_back(each.finish(name));
  std::stable_sort(metrics.by_tenant.begin(), metrics.by_tenant.end(),
                   [](const WaitFigures& a, const WaitFigures& b) { return a.gpu_hours > b.gpu_hours; });
}

}  // namespace

std::size_t size_class(const Job& job) {
  const std::int64_t milli = job.gpu_milli();
  if (milli == 0) return 0;
  if (milli <= 1000) return 1;
  if (milli <= 8000) return 2;
  return milli <= 64'000 ? 3 : 4;
}

double quantile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size() - 1, rank > 0 ? rank - 1 : 0)];
}

ReplayMetrics measure(std::string policy, std::span<const Job> jobs, const ReplayResult& result) {
  ReplayMetrics metrics;
  metrics.policy = std::move(policy);
  Classes classes;
  std::vector<double> slowdowns;
  double held = 0;
  double backfilled = 0;
  std::uint64_t passed = 0;
  double longest = -1;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobOutcome& outcome = result.jobs[i];
    if (seconds_of(outcome.waited) > longest && outcome.first_start != kNever) {
      longest = seconds_of(outcome.waited);
      metrics.longest_job = static_cast<std::uint32_t>(i);
    }
    metrics.lost_gpu_hours += outcome.lost_gpu_seconds / 3600;
    metrics.killed += outcome.killed ? 1U : 0U;
    metrics.failures += outcome.failures;
    if (outcome.first_start == kNever) continue;
    ++metrics.started;
    held += outcome.gpu_seconds;
    if (outcome.backfilled) {
      ++passed;
      backfilled += outcome.gpu_seconds;
    }
    const double slowdown = slowdown_of(outcome);
    if (slowdown > 0) slowdowns.push_back(slowdown);
    classes.all.add(outcome, slowdown);
    classes.sizes[size_class(jobs[i])].add(outcome, slowdown);
    classes.tenants[jobs[i].tenant.empty() ? "-" : jobs[i].tenant].add(outcome, slowdown);
    const auto edge = std::upper_bound(kRunEdges.begin(), kRunEdges.end(), seconds_of(jobs[i].run_time));
    classes.runs[static_cast<std::size_t>(edge - kRunEdges.begin())].add(outcome, slowdown);
  }
  measure_waits(classes, metrics);
  std::sort(slowdowns.begin(), slowdowns.end());
  metrics.slowdown_median = quantile(slowdowns, 0.5);
  metrics.slowdown_p99 = quantile(slowdowns, 0.99);
  metrics.backfilled_starts = share(static_cast<double>(passed), static_cast<double>(metrics.started));
  metrics.backfilled_gpu_hours = share(backfilled, held);
  metrics.backfill_efficiency = share(backfilled, backfilled + result.sums.idle_waiting_gpu_seconds);
  measure_sums(result, metrics);
  measure_samples(result, metrics);
  measure_levels(jobs, result, metrics);
  metrics.never_started = result.never_started;
  metrics.preemptions = result.preemptions;
  metrics.moves = result.moves;
  metrics.resizes = result.resizes;
  metrics.decisions = result.decisions;
  metrics.hash = result.hash;
  return metrics;
}

}  // namespace weft::sched
