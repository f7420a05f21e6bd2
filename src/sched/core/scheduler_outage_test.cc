// Planned outages of nodes, and nodes excluded for one job.
#include "sched/core/scheduler_test_help.h"

namespace weft::sched {
namespace {

Job short_job(std::int32_t tasks, std::int64_t limit) {
  Job job = job_of("a", tasks, 8);
  job.limit = limit == 0 ? kUnlimited : seconds(limit);
  return job;
}

std::set<NodeId> nodes_of(const Placement& placement) {
  std::set<NodeId> nodes;
  for (const Slot& slot : placement.slots) nodes.insert(slot.node);
  return nodes;
}

TEST(SchedulerOutage, OnlyJobsThatEndBeforeStartThere) {
  Scheduler scheduler(servers(2), Policy{}, {});
  scheduler.plan_outages({{NodeId{0}, at(10'000)}, {NodeId{1}, at(10'000)}}, at(0));
  const JobId too_long = scheduler.submit(short_job(1, 10'001), at(0));
  const JobId fits = scheduler.submit(short_job(1, 10'000), at(0));
  const JobId unlimited = scheduler.submit(short_job(1, 0), at(0));
  const Decisions decisions = scheduler.decide(at(0));
  ASSERT_EQ(decisions.starts.size(), 2U);
  EXPECT_EQ(scheduler.record(too_long).phase, JobPhase::waiting);
  EXPECT_EQ(scheduler.record(fits).phase, JobPhase::running);
  EXPECT_EQ(scheduler.record(unlimited).phase, JobPhase::running) << "the outage is beyond the horizon";
  scheduler.finish(fits, at(1));
  scheduler.decide(at(1));
  EXPECT_EQ(scheduler.why(too_long, at(1)).reason, Reason::barred);
  scheduler.plan_outages({}, at(2));
  EXPECT_EQ(scheduler.decide(at(2)).starts.size(), 1U);
}

TEST(SchedulerOutage, UnlimitedJobsKeepAwayWithinTheHorizon) {
  Scheduler scheduler(servers(2), Policy{}, {});
  scheduler.plan_outages({{NodeId{0}, at(3599)}, {NodeId{1}, at(3600)}}, at(0));
  const JobId job = scheduler.submit(short_job(1, 0), at(0));
  const Decisions decisions = scheduler.decide(at(0));
  ASSERT_EQ(decisions.starts.size(), 1U);
  EXPECT_EQ(nodes_of(scheduler.record(job).placement), std::set<NodeId>{NodeId{1}});
}

TEST(SchedulerOutage, NothingIsPreemptedOrReservedThere) {
  Scheduler scheduler(servers(2), Policy{}, {});
  const JobId victim = scheduler.submit(job_of("a", 2, 8), at(0));
  scheduler.decide(at(0));
  scheduler.plan_outages({{NodeId{0}, at(1000)}}, at(1));
  const JobId high = scheduler.submit(job_of("a", 2, 8, 5), at(2));
  const Decisions decisions = scheduler.decide(at(2));
  EXPECT_TRUE(decisions.preempts.empty()) << "node 0 would not be available for it";
  EXPECT_EQ(scheduler.reservation_of(high), nullptr);
  EXPECT_EQ(scheduler.record(victim).phase, JobPhase::running);
}

TEST(SchedulerOutage, RepairLeavesNodesWithAnOutage) {
  Scheduler scheduler(servers(4), Policy{}, {});
  const JobId job = scheduler.submit(short_job(2, 500), at(0));
  scheduler.decide(at(0));
  const std::set<NodeId> before = nodes_of(scheduler.record(job).placement);
  scheduler.plan_outages({{*before.begin(), at(700)}}, at(1));
  scheduler.node_down(*before.rbegin(), at(300));
  ASSERT_TRUE(scheduler.repair_job(job, at(300)));
  for (const NodeId node : nodes_of(scheduler.record(job).placement)) EXPECT_FALSE(before.contains(node));
  EXPECT_EQ(scheduler.broken_invariant(), "");
}

TEST(SchedulerOutage, ExcludedNodesAreNotUsed) {
  Scheduler scheduler(servers(4), Policy{}, {});
  const JobId job = scheduler.submit(short_job(2, 0), at(0));
  const JobId other = scheduler.submit(short_job(1, 0), at(0));
  scheduler.decide(at(0));
  const std::set<NodeId> before = nodes_of(scheduler.record(job).placement);
  const std::vector<NodeId> without(before.begin(), before.end());
  EXPECT_FALSE(scheduler.fits_elsewhere(job, without, at(1)));
  scheduler.finish(other, at(2));
  EXPECT_TRUE(scheduler.fits_elsewhere(job, without, at(2)));
  scheduler.stopped(job, at(3));
  scheduler.exclude(job, without, at(3));
  ASSERT_EQ(scheduler.decide(at(3)).starts.size(), 1U);
  for (const NodeId node : nodes_of(scheduler.record(job).placement)) EXPECT_FALSE(before.contains(node));
}

TEST(SchedulerOutage, RandomOutagesAreRespected) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomStream random(seed, "outages");
    Scheduler scheduler(servers(12, 8, 4), Policy{}, {tenant_of("a", 48), tenant_of("b", 48)});
    Moment now = at(0);
    std::map<NodeId, Moment> planned;
    for (int i = 0; i < 300; ++i) {
      now = now + seconds(random.between(1, 200));
      if (random.chance(0.2)) {
        planned.clear();
        std::vector<PlannedOutage> outages;
        for (std::uint64_t k = random.below(5); k > 0; --k) {
          const auto node = static_cast<NodeId>(random.below(12));
          planned[node] = now + seconds(random.between(1, 5000));
        }
        outages.reserve(planned.size());
        for (const auto& [node, from] : planned) outages.push_back({node, from});
        scheduler.plan_outages(outages, now);
      }
      const char* tenant = random.chance(0.5) ? "a" : "b";
      const auto tasks = static_cast<std::int32_t>(random.between(1, 6));
      const auto priority = static_cast<std::int32_t>(random.below(3));
      Job job = job_of(tenant, tasks, 8, priority);
      job.limit = random.chance(0.2) ? kUnlimited : seconds(random.between(100, 4000));
      if (random.chance(0.3)) job.min_tasks = (job.tasks + 1) / 2;
      scheduler.submit(std::move(job), now);
      if (!scheduler.running().empty() && random.chance(0.6)) {
        const JobId ended = scheduler.running()[random.below(scheduler.running().size())];
        scheduler.record(ended).phase == JobPhase::stopping ? scheduler.stopped(ended, now)
                                                            : scheduler.finish(ended, now);
      }
      const Decisions decisions = scheduler.decide(now);
      for (const Start& start : decisions.starts) {
        const Job& started = scheduler.record(start.job).job;
        const Moment end = now + (started.limit == kUnlimited ? scheduler.policy().outage_horizon : started.limit);
        for (const Slot& slot : start.placement.slots) {
          const auto outage = planned.find(slot.node);
          EXPECT_TRUE(outage == planned.end() || outage->second >= end) << "seed " << seed;
        }
      }
      ASSERT_EQ(scheduler.broken_invariant(), "") << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace weft::sched
