// Helpers for scheduler tests: small machines, small jobs, and a run of random events that checks every guarantee of
// the scheduler against its behavior.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/core/scheduler.h"
#include "sched/machine/plain_machine.h"

namespace weft::sched {

inline Moment at(std::int64_t s) { return Moment(s * 1'000'000'000); }

inline std::shared_ptr<const Machine> servers(std::int32_t nodes, std::int32_t gpus = 8, std::int32_t rack = 0) {
  PlainMachine plain;
  plain.nodes = nodes;
  plain.gpus = gpus;
  plain.rack = rack;
  plain.leaf = 0;
  plain.pod = 0;
  return std::make_shared<const Machine>(plain_machine(plain));
}

inline Job job_of(std::string tenant, std::int32_t tasks, std::int32_t gpus, std::int32_t priority = 0) {
  Job job;
  job.name = "job";
  job.tenant = std::move(tenant);
  job.tasks = tasks;
  job.task.gpus = gpus;
  job.priority = priority;
  job.limit = seconds(100'000);
  return job;
}

inline TenantPolicy tenant_of(std::string name, std::int64_t gpus, std::string cohort = "all") {
  TenantPolicy policy;
  policy.name = std::move(name);
  policy.cohort = std::move(cohort);
  policy.quota.gpu_milli = gpus * kWholeGpu;
  return policy;
}

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, std::shared_ptr<const Machine> machine, Policy policy,
            std::vector<TenantPolicy> tenants)
      : random_(seed, "events"),
        tenant_count_(static_cast<std::int64_t>(tenants.size())),
        scheduler(std::move(machine), std::move(policy), std::move(tenants)) {}

  // One event, then a decision and checks of its consequences. False: a check failed (recorded as a test failure).
  bool step() {
    now = now + seconds(random_.between(1, 50));
    const std::uint64_t what = random_.below(100);
    if (what < 45) {
      submit();
    } else if (what < 65) {
      if (const auto id = any_running(JobPhase::running)) scheduler.finish(*id, now);
    } else if (what < 80) {
      if (const auto id = any_running(JobPhase::stopping)) stop(*id);
    } else if (what < 90) {
      if (const auto id = any_running(JobPhase::running)) scheduler.checkpointed(*id, now);
    } else if (failures && what < 96) {
      lose_nodes();
    } else if (failures && !down_.empty()) {
      scheduler.node_up(down_.back(), now);
      down_.pop_back();
    }
    return decide() && !::testing::Test::HasFailure();
  }

  bool decide() {
    const Decisions decisions = scheduler.decide(now);
    for (const Preempt& preempt : decisions.preempts) {
      ++preemptions;
      const JobRecord& victim = scheduler.record(preempt.victim);
      EXPECT_TRUE(victim.job.preemptible && !victim.job.inference);
      EXPECT_EQ(victim.phase, JobPhase::stopping);
      EXPECT_LE(victim.started + scheduler.policy().exempt, now);
      const JobRecord& taker = scheduler.record(preempt.by);
      EXPECT_LT(victim.rank(), (Rank{Charge::guaranteed, taker.job.priority}));
      const bool owned = victim.charge == Charge::guaranteed && scheduler.tenants().limited(victim.tenant);
      EXPECT_TRUE(!owned || victim.tenant == taker.tenant);
      waiting_for_victims_.insert(preempt.by);
    }
    for (const Start& start : decisions.starts) served += static_cast<int>(waiting_for_victims_.erase(start.job));
    for (const Resize& resize : decisions.resizes) {
      (resize.grow ? grown : shrunk) += 1;
      // A job that shrinks does so for a job that starts, at once or when its victims have stopped.
      if (resize.grow) continue;
      const bool starts = std::any_of(decisions.starts.begin(), decisions.starts.end(),
                                      [&](const Start& start) { return start.job == resize.by; });
      const bool waits = std::any_of(scheduler.reservations().begin(), scheduler.reservations().end(),
                                     [&](const Reservation& reservation) { return reservation.job == resize.by; });
      EXPECT_TRUE(starts || waits);
    }
    moved += static_cast<int>(decisions.moves.size());
    const std::string broken = scheduler.broken_invariant();
    EXPECT_EQ(broken, "");
    return broken.empty();
  }

  void stop(JobId id) { scheduler.stopped(id, now); }

  // All victims have stopped and nothing else happens: preemption must terminate, and the remaining ranks must be
  // higher than those at the beginning.
  void settle() {
    const std::size_t most = scheduler.job_count() + 2;
    std::vector<Rank> before;
    int preempted = 0;
    for (std::size_t round = 0; round < most; ++round) {
      std::vector<JobId> stopping;
      for (const JobId id : scheduler.running()) {
        if (scheduler.record(id).phase == JobPhase::stopping) stopping.push_back(id);
      }
      std::sort(stopping.begin(), stopping.end());
      for (const JobId id : stopping) stop(id);
      const int known = preemptions;
      if (!decide()) return;
      longest_settling = std::max(longest_settling, round);
      if (round == 0) {  // earlier victims may have stopped for a job that has ended since
        before = scheduler.committed_ranks();
        preempted = preemptions;
      }
      if (!stopping.empty() || preemptions != known) continue;
      ASSERT_LE(before, scheduler.committed_ranks());
      ASSERT_TRUE(preemptions == preempted || before < scheduler.committed_ranks());
      return;
    }
    FAIL() << "preemption does not end";
  }

 private:
  void submit() {
    Job job;
    job.tenant = std::string(1, static_cast<char>('a' + random_.between(0, std::max<std::int64_t>(0, tenant_count_))));
    job.tasks = static_cast<std::int32_t>(random_.between(1, 6));
    job.task.gpus = static_cast<std::int32_t>(1 << random_.below(4));
    if (random_.chance(0.1)) {
      job.task.gpus = 1;
      job.task.gpu_milli = 300;
    }
    job.priority = static_cast<std::int32_t>(random_.between(0, 4));
    job.limit = seconds(random_.between(20, 2000));
    job.preemptible = random_.chance(0.85);
    if (random_.chance(0.05)) {
      job.inference = true;
      job.preemptible = false;
    }
    if (random_.chance(0.4)) job.min_tasks = static_cast<std::int32_t>(random_.between(1, job.tasks));
    if (random_.chance(0.3)) job.required = Level::rack;
    if (job.tasks % 2 == 0 && random_.chance(0.2)) {
      job.segment = 2;
      job.segment_level = Level::rack;
      job.min_tasks = 0;
    }
    if (random_.chance(0.5)) job.grace = seconds(random_.between(1, 60));
    if (random_.chance(0.5)) job.checkpoint_interval = seconds(100);
    job.restart_cost = seconds(random_.between(0, 30));
    job.submitted = now;
    job.name = "job-" + std::to_string(scheduler.job_count());
    ASSERT_EQ(problem_of(job), "");
    scheduler.submit(std::move(job), now);
  }

  std::optional<JobId> any_running(JobPhase phase) {
    std::vector<JobId> ids;
    for (const JobId id : scheduler.running()) {
      if (scheduler.record(id).phase == phase) ids.push_back(id);
    }
    if (ids.empty()) return std::nullopt;
    std::sort(ids.begin(), ids.end());
    return ids[random_.below(ids.size())];
  }

  void lose_nodes() {
    std::vector<NodeId> lost;
    const auto nodes = static_cast<std::int64_t>(scheduler.machine().nodes().size());
    for (std::int64_t count = random_.between(1, 2); count > 0; --count) {
      const auto node = static_cast<NodeId>(random_.between(0, nodes - 1));
      if (!scheduler.state().free(node).up) continue;
      lost.push_back(node);
      down_.push_back(node);
    }
    std::sort(lost.begin(), lost.end());
    lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
    std::sort(down_.begin(), down_.end());
    down_.erase(std::unique(down_.begin(), down_.end()), down_.end());
    const Scheduler::Repair repair = scheduler.repair(lost, now);
    swapped += static_cast<int>(repair.moves.size());
    requeued += static_cast<int>(repair.requeued.size());
    for (const NodeId node : lost) {
      for (const Tenancy& task : scheduler.state().tasks_on(node)) {
        EXPECT_EQ(scheduler.record(task.job).phase, JobPhase::stopping) << "a job is left on a lost node";
      }
    }
    const std::string broken = scheduler.broken_invariant();
    EXPECT_EQ(broken, "") << "after a repair";
  }

  RandomStream random_;
  std::int64_t tenant_count_;
  std::set<JobId> waiting_for_victims_;
  std::vector<NodeId> down_;

 public:
  Scheduler scheduler;
  Moment now{};
  bool failures = false;
  int preemptions = 0;
  int served = 0;  // jobs that started after their victims had stopped
  int grown = 0;
  int shrunk = 0;
  int moved = 0;
  int swapped = 0;
  int requeued = 0;
  std::size_t longest_settling = 0;  // rounds
};

}  // namespace weft::sched
