#include "sched/core/scheduler_test_help.h"

namespace weft::sched {
namespace {

TEST(SchedulerPreempt, CheapestVictimIsPreemptedAndItsResourcesReserved) {
  Scheduler scheduler(servers(3), {});
  for (int i = 0; i < 3; ++i) {
    Job job = job_of("a", 1, 8);
    job.grace = seconds(30);
    job.checkpoint_interval = seconds(600);
    scheduler.submit(job, at(i));
  }
  ASSERT_EQ(scheduler.decide(at(3)).starts.size(), 3U);
  scheduler.checkpointed(JobId{1}, at(900));  // least work to lose
  const JobId urgent = scheduler.submit(job_of("b", 1, 8, 10), at(1000));
  const Decisions decisions = scheduler.decide(at(1000));
  ASSERT_EQ(decisions.preempts.size(), 1U);
  EXPECT_EQ(decisions.preempts[0].victim, JobId{1});
  EXPECT_EQ(decisions.preempts[0].by, urgent);
  EXPECT_EQ(decisions.preempts[0].deadline, at(1030));
  EXPECT_DOUBLE_EQ(decisions.preempts[0].lost_gpu_seconds, 800.0);
  EXPECT_TRUE(decisions.starts.empty());
  EXPECT_TRUE(scheduler.decide(at(1001)).empty());  // notified once
  scheduler.submit(job_of("c", 1, 8), at(1002));    // freed resources are not for jobs behind
  EXPECT_TRUE(scheduler.decide(at(1002)).empty());
  scheduler.stopped(JobId{1}, at(1010));
  const Decisions after = scheduler.decide(at(1010));
  ASSERT_EQ(after.starts.size(), 1U);
  EXPECT_EQ(after.starts[0].job, urgent);
  EXPECT_TRUE(after.preempts.empty());
  EXPECT_EQ(scheduler.broken_invariant(), "");
}

TEST(SchedulerPreempt, CheckpointOnNoticeCostsOnlyTheRestart) {
  Scheduler scheduler(servers(2), {});
  Job saves = job_of("a", 1, 8);
  saves.grace = seconds(60);
  saves.checkpoint_on_notice = true;
  saves.restart_cost = seconds(5);
  Job young = job_of("a", 1, 8);
  scheduler.submit(saves, at(0));
  static_cast<void>(scheduler.decide(at(0)));
  scheduler.submit(young, at(990));
  static_cast<void>(scheduler.decide(at(990)));
  scheduler.submit(job_of("b", 1, 8, 1), at(1000));
  const Decisions decisions = scheduler.decide(at(1000));
  ASSERT_EQ(decisions.preempts.size(), 1U);
  EXPECT_EQ(decisions.preempts[0].victim, JobId{0});  // 8 x 5 GPU-seconds versus 8 x 10
  EXPECT_DOUBLE_EQ(decisions.preempts[0].lost_gpu_seconds, 40.0);
}

TEST(SchedulerPreempt, ServicesNonPreemptibleExemptAndEqualJobsAreNotPreempted) {
  Policy policy;
  policy.exempt = seconds(100);
  Scheduler scheduler(servers(4), policy);
  Job service = job_of("a", 1, 8);
  service.preemptible = false;
  service.inference = true;
  Job unwilling = job_of("a", 1, 8);
  unwilling.preemptible = false;
  scheduler.submit(service, at(0));
  scheduler.submit(unwilling, at(0));
  scheduler.submit(job_of("a", 1, 8, 5), at(0));  // same priority as the new job
  scheduler.submit(job_of("a", 1, 8, 1), at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 4U);
  scheduler.submit(job_of("a", 1, 8, 5), at(50));
  EXPECT_TRUE(scheduler.decide(at(50)).empty());
  EXPECT_EQ(scheduler.next_wake(at(50)), at(100));
  const Decisions decisions = scheduler.decide(at(100));
  ASSERT_EQ(decisions.preempts.size(), 1U);
  EXPECT_EQ(decisions.preempts[0].victim, JobId{3});
}

TEST(SchedulerPreempt, NoJobIsPreemptedInVain) {
  Scheduler scheduler(servers(4, 8, 2), {});
  Job keeps = job_of("a", 1, 8, 9);  // one per rack
  keeps.preemptible = false;
  scheduler.submit(keeps, at(0));
  static_cast<void>(scheduler.decide(at(0)));
  Job weak = job_of("a", 1, 8, 0);
  for (int i = 0; i < 3; ++i) scheduler.submit(weak, at(1));
  ASSERT_EQ(scheduler.decide(at(1)).starts.size(), 3U);
  Job gang = job_of("b", 3, 8, 5);  // a rack has two servers, and only one rack can be cleared
  gang.required = Level::cluster;
  Job rack = job_of("b", 2, 8, 5);
  rack.required = Level::rack;
  scheduler.submit(rack, at(2));
  const Decisions decisions = scheduler.decide(at(2));
  ASSERT_EQ(decisions.preempts.size(), 2U);  // the rack without the non-preemptible job
  for (const Preempt& preempt : decisions.preempts) {
    const NodeId node = scheduler.record(preempt.victim).placement.slots[0].node;
    EXPECT_NE(scheduler.machine().domain_of(Level::rack, node),
              scheduler.machine().domain_of(Level::rack, scheduler.record(JobId{0}).placement.slots[0].node));
  }
  scheduler.submit(gang, at(3));  // two servers are used and one cannot be preempted
  EXPECT_TRUE(scheduler.decide(at(3)).preempts.empty());
}

TEST(SchedulerPreempt, QuotaIsReclaimedFromBorrowersOfAnyPriority) {
  Scheduler scheduler(servers(2), {}, {tenant_of("a", 8), tenant_of("b", 8)});
  scheduler.submit(job_of("a", 1, 8, 9), at(0));
  scheduler.submit(job_of("a", 1, 8, 8), at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 2U);
  ASSERT_EQ(scheduler.record(JobId{1}).charge, Charge::borrowed);
  const JobId owner = scheduler.submit(job_of("b", 1, 8, 0), at(10));
  const Decisions decisions = scheduler.decide(at(10));
  ASSERT_EQ(decisions.preempts.size(), 1U);
  EXPECT_EQ(decisions.preempts[0].victim, JobId{1});
  scheduler.stopped(JobId{1}, at(10));
  const Decisions after = scheduler.decide(at(10));
  ASSERT_EQ(after.starts.size(), 1U);
  EXPECT_EQ(after.starts[0].job, owner);
  EXPECT_EQ(after.starts[0].charge, Charge::guaranteed);
  // The borrower has priority 8, but may preempt neither an owner nor a better job of its own tenant.
  EXPECT_TRUE(scheduler.decide(at(11)).empty());
}

TEST(SchedulerPreempt, BorrowerPreemptsOnlyLowerBorrowers) {
  Scheduler scheduler(servers(4), {}, {tenant_of("a", 8), tenant_of("b", 8), tenant_of("c", 16)});
  scheduler.submit(job_of("a", 1, 8, 0), at(0));  // on its own quota
  scheduler.submit(job_of("b", 1, 8, 0), at(0));
  static_cast<void>(scheduler.decide(at(0)));
  scheduler.submit(job_of("a", 1, 8, 3), at(1));  // borrows from c
  scheduler.submit(job_of("a", 1, 8, 2), at(1));
  ASSERT_EQ(scheduler.decide(at(1)).starts.size(), 2U);
  scheduler.submit(job_of("b", 1, 8, 3), at(2));
  const Decisions decisions = scheduler.decide(at(2));
  ASSERT_EQ(decisions.preempts.size(), 1U);
  EXPECT_EQ(decisions.preempts[0].victim, JobId{3});
}

TEST(SchedulerPreempt, PreemptsForQuotaAlone) {
  TenantPolicy alone = tenant_of("a", 8, "");
  Scheduler scheduler(servers(4), {}, {alone});
  scheduler.submit(job_of("a", 1, 8, 0), at(0));
  scheduler.submit(job_of("b", 1, 8, 0), at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 2U);
  const JobId better = scheduler.submit(job_of("a", 1, 8, 1), at(1));  // two servers are free, but its quota is used up
  const Decisions decisions = scheduler.decide(at(1));
  ASSERT_EQ(decisions.preempts.size(), 1U);
  EXPECT_EQ(decisions.preempts[0].victim, JobId{0});
  scheduler.submit(job_of("a", 1, 8, 0), at(2));  // the quota released by the victim is not for it
  scheduler.stopped(JobId{0}, at(3));
  const Decisions after = scheduler.decide(at(3));
  ASSERT_EQ(after.starts.size(), 1U);
  EXPECT_EQ(after.starts[0].job, better);
}

// Gangs of random shapes in four tenants: no job is preempted by one of equal or lower rank, nothing is charged twice,
// and preemption always terminates.
TEST(SchedulerPreempt, RandomEventsKeepTheOrderAndComeToRest) {
  int served = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Policy policy;
    policy.exempt = seconds(seed % 3 == 0 ? 40 : 0);
    policy.order = seed % 2 == 0 ? Order::fifo : Order::fair;
    policy.backfill = seed % 4 < 2 ? Backfill::greedy : Backfill::reserved;
    RandomRun run(seed, servers(9, 8, 3), policy, {tenant_of("a", 16), tenant_of("b", 24), tenant_of("c", 8)});
    for (int i = 0; i < 150; ++i) {
      ASSERT_TRUE(run.step()) << "seed " << seed << " step " << i;
      if (i % 30 == 29) {
        run.settle();
        ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << i;
      }
    }
    served += run.served;
    EXPECT_LT(run.longest_settling, 40U);
  }
  EXPECT_GT(served, 100);
}

// The size at which another scheduler's cycle took 40 seconds (Kueue #13148): 2,000 servers, 700 possible victims.
TEST(SchedulerPreempt, SevenHundredVictimsOnTwoThousandServers) {
  for (const Level required : {Level::cluster, Level::rack}) {
    RandomStream random(5, "large");
    Scheduler scheduler(servers(2000, 8, 50), {});
    std::int64_t left = 2000;
    for (int i = 0; i < 700; ++i) {
      const std::int64_t most = std::min<std::int64_t>(6, left - (699 - i));
      const auto tasks =
          static_cast<std::int32_t>(i == 699 ? left : random.between(1, std::max<std::int64_t>(1, most)));
      left -= tasks;
      Job job = job_of("a", tasks, 8);
      job.restart_cost = seconds(random.between(1, 100));
      scheduler.submit(job, at(i));
      static_cast<void>(scheduler.decide(at(i)));
    }
    ASSERT_EQ(scheduler.running().size(), 700U);
    const std::int32_t tasks = required == Level::cluster ? 500 : 40;
    Job urgent = job_of("b", tasks, 8, 1);
    urgent.required = required;
    scheduler.submit(urgent, at(1000));
    const Decisions decisions = scheduler.decide(at(1000));
    ASSERT_FALSE(decisions.preempts.empty());
    std::int32_t freed = 0;
    for (const Preempt& preempt : decisions.preempts) freed += scheduler.record(preempt.victim).running_tasks();
    EXPECT_GE(freed, tasks);
    for (const Preempt& preempt : decisions.preempts) {
      const bool spared = freed - scheduler.record(preempt.victim).running_tasks() >= tasks;
      EXPECT_TRUE(required != Level::cluster || !spared);
      scheduler.stopped(preempt.victim, at(1000));
    }
    const Decisions after = scheduler.decide(at(1000));
    ASSERT_FALSE(after.starts.empty());
    EXPECT_EQ(after.starts[0].job, JobId{700});
    EXPECT_EQ(scheduler.broken_invariant(), "");
  }
}

}  // namespace
}  // namespace weft::sched
