// A trace played against the scheduler in virtual time: jobs arrive, the scheduler decides, jobs end when they have run
// as long as they did (or as long as a model says for the placement they got), nodes fail and come back. Event-driven,
// deterministic, no clock. What it measures is in ReplayResult; how that is shown is in replay_view.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "sched/scheduler.h"
#include "sched/workload.h"

namespace weft::sched {

struct NodeFailure {
  NodeId node{};
  Moment down{};
  Moment up = kNever;
};

struct ReplayOptions {
  Policy policy;
  std::vector<TenantPolicy> tenants;
  std::vector<NodeFailure> failures;
  bool kill_at_limit = true;  // as schedulers do; false: a job that outruns its limit goes on
  // How much longer than in the trace a job takes with this placement (1: as long). None: always 1.
  std::function<double(const Job& job, const Machine& machine, const Placement& placement)> pace;
  Duration sample_every = seconds(600);
};

struct JobOutcome {
  Moment submitted{};
  Moment first_start = kNever;  // kNever: it never started
  Moment end = kNever;
  Duration waited{};            // all of it, after preemptions too
  double gpu_seconds = 0;       // held, useful or not
  double lost_gpu_seconds = 0;  // work done again after preemptions and failures
  std::uint32_t preemptions = 0;
  Level level = Level::node;  // how widely the last run was spread
  bool backfilled = false;
  bool killed = false;                 // at its limit
  Reason first_reason = Reason::none;  // why it did not start at once
};

struct Sample {
  Moment at{};
  std::int64_t used_gpu_milli = 0;
  std::int64_t up_gpu_milli = 0;
  std::int64_t waiting_gpu_milli = 0;
  std::uint32_t waiting_jobs = 0;
  std::uint32_t running_jobs = 0;
  std::uint32_t fragment_permille = 0;  // of what is idle: cannot serve a job like those that wait
};

struct ReplayResult {
  std::vector<JobOutcome> jobs;  // as in the workload
  std::vector<Sample> samples;
  Moment begin{};
  Moment end{};  // of the last job
  std::uint64_t decisions = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t moves = 0;
  std::uint64_t resizes = 0;
  std::uint64_t never_started = 0;
  std::uint64_t hash = 0;  // of every start, stop and end in order: equal runs have equal hashes
};

class Replay {
 public:
  Replay(std::shared_ptr<const Machine> machine, std::span<const Job> jobs, ReplayOptions options);

  // Plays every event up to and including `until`. False when nothing is left to happen.
  bool run_until(Moment until);
  [[nodiscard]] Moment now() const { return now_; }
  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }
  // The scheduler's id of a job of the workload; submitted ones only. Ids are given in order of submission.
  [[nodiscard]] JobId id_of(std::size_t job) const { return static_cast<JobId>(job); }
  // What came of it so far.
  [[nodiscard]] ReplayResult result() const;

 private:
  Scheduler scheduler_;
  Moment now_{};
};

// The whole trace.
[[nodiscard]] ReplayResult replay(std::shared_ptr<const Machine> machine, std::span<const Job> jobs,
                                  const ReplayOptions& options);

}  // namespace weft::sched
