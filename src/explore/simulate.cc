#include "explore/simulate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/check.h"
#include "explore/build.h"
#include "explore/estimate.h"
#include "twin/parallel.h"

namespace weft::explore {
namespace {

constexpr double kDay = 86'400e9;

// Long enough for a run that takes a quarter longer than its lower bound, up to what the question allows.
Duration length_of(const Question& question, const Candidate& candidate) {
  const double days = std::ceil(candidate.figures.optimistic_days * 1.25 + 1);
  if (!(days < 3'660)) return question.simulated;
  return std::min(question.simulated, sched::seconds(static_cast<std::int64_t>(days) * 86'400));
}

double days_of(Duration duration) { return static_cast<double>(duration.count()) / kDay; }

}  // namespace

Result<twin::TwinPlan> plan_of(const Question& question, const Candidate& candidate) {
  const Result<BuiltCandidate> built = build_candidate(question, candidate.choice, candidate.layout, "candidate");
  if (!built.ok()) return built.error();
  Result<sched::Machine> machine = sched::Machine::of(*built->cluster);
  if (!machine.ok()) return machine.error();
  twin::TwinPlan plan;
  plan.cluster = built->cluster->name();
  plan.machine = std::make_shared<const sched::Machine>(std::move(machine).value());
  plan.options.tenants = sched::tenants_of(*built->cluster);
  plan.options.start_timeout = start_timeout_for(candidate.figures.job);
  plan.faults = question.faults;
  plan.fault_scale = question.fault_scale;
  plan.length = length_of(question, candidate);
  plan.jobs = {candidate.figures.job};
  twin::number_jobs(plan.jobs);
  return plan;
}

Run run_of(const twin::TwinResult& result, const twin::TwinJob& job) {
  CHECK(result.jobs.size() == 1, "the plan has one job");
  const twin::JobResult& found = result.jobs.front();
  const twin::TwinWorld::JobAccount& account = found.account;
  Run run;
  run.ettr = std::max(0.0, found.ettr);
  const double simulated = account.done ? days_of(account.ended - twin::kTwinStart) : days_of(result.length);
  run.interruptions = simulated > 0 ? static_cast<double>(account.interruptions) / simulated : 0;
  run.days = simulated;
  if (!account.done) {
    run.extrapolated = true;
    const double share = days_of(account.progress) / std::max(1e-9, days_of(job.work));
    run.days = share > 0 ? simulated / share : std::numeric_limits<double>::infinity();
  }
  double all = static_cast<double>(twin::gpu_time(found.milli_gpus, account.waits));
  const double waits = all;
  for (const twin::GpuTime each : account.time) all += static_cast<double>(each);
  const auto share = [&](std::initializer_list<twin::Use> uses) {
    double sum = 0;
    for (const twin::Use use : uses) sum += static_cast<double>(account.time[static_cast<std::size_t>(use)]);
    return all > 0 ? sum / all : 0;
  };
  run.checkpoints = share({twin::Use::checkpoint});
  run.lost = share({twin::Use::lost});
  run.restarts = share({twin::Use::starting, twin::Use::stopping});
  run.unnoticed = share({twin::Use::undetected});
  run.waits = all > 0 ? waits / all : 0;
  return run;
}

Status simulate(const Question& question, const std::vector<Candidate*>& candidates, const SimulateHooks& hooks) {
  const std::size_t seeds = question.seeds.size();
  std::vector<std::optional<Error>> errors(candidates.size() * seeds);
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  for (Candidate* candidate : candidates) candidate->runs.assign(seeds, Run{});
  twin::parallel_for(candidates.size() * seeds, question.threads, [&](std::size_t i) {
    if (stopped) return;
    Candidate& candidate = *candidates[i / seeds];
    Result<twin::TwinPlan> plan = plan_of(question, candidate);
    if (!plan.ok()) {
      errors[i] = plan.error();
      stopped = true;
      return;
    }
    plan->seed = question.seeds[i % seeds];
    twin::TwinHooks inner;
    inner.progress = [&](Duration) { return !stopped && (!hooks.go_on || hooks.go_on()); };
    const Result<twin::TwinResult> result = twin::play(*plan, inner);
    if (!result.ok()) {
      errors[i] = result.error();
      stopped = true;
      return;
    }
    candidate.runs[i % seeds] = run_of(*result, candidate.figures.job);
    const std::lock_guard lock(mutex);
    if (hooks.finished) hooks.finished();
  });
  for (const std::optional<Error>& error : errors) {
    if (error) return *error;
  }
  return {};
}

}  // namespace weft::explore
