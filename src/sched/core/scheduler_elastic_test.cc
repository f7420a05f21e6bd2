#include "sched/core/scheduler_test_help.h"

namespace weft::sched {
namespace {

Job elastic_of(std::int32_t most, std::int32_t fewest, std::int32_t priority = 0) {
  Job job = job_of("a", most, 8, priority);
  job.min_tasks = fewest;
  return job;
}

TEST(SchedulerElastic, GrowsIntoIdleResourcesAndReleasesThem) {
  Scheduler scheduler(servers(4), {});
  scheduler.submit(job_of("b", 2, 8), at(0));
  scheduler.submit(elastic_of(4, 1), at(1));
  ASSERT_EQ(scheduler.decide(at(1)).starts.size(), 2U);
  EXPECT_EQ(scheduler.record(JobId{1}).running_tasks(), 2);
  scheduler.finish(JobId{0}, at(10));
  const Decisions grown = scheduler.decide(at(10));
  ASSERT_EQ(grown.resizes.size(), 1U);
  EXPECT_TRUE(grown.resizes[0].grow);
  EXPECT_EQ(grown.resizes[0].slots.size(), 2U);
  EXPECT_EQ(scheduler.record(JobId{1}).running_tasks(), 4);
  // Any new job, of any rank, gets the resources that the elastic job can spare, and starts in the same decision.
  const JobId late = scheduler.submit(job_of("c", 3, 8, -5), at(20));
  const Decisions shrunk = scheduler.decide(at(20));
  ASSERT_EQ(shrunk.resizes.size(), 1U);
  EXPECT_FALSE(shrunk.resizes[0].grow);
  EXPECT_EQ(shrunk.resizes[0].by, late);
  ASSERT_EQ(shrunk.starts.size(), 1U);
  EXPECT_EQ(shrunk.starts[0].job, late);
  EXPECT_EQ(scheduler.record(JobId{1}).running_tasks(), 1);
  EXPECT_TRUE(shrunk.preempts.empty());
  EXPECT_EQ(scheduler.broken_invariant(), "");
}

TEST(SchedulerElastic, DoesNotShrinkForAJobThatWouldNotStart) {
  Scheduler scheduler(servers(4), {});
  scheduler.submit(elastic_of(4, 2), at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 1U);
  scheduler.submit(job_of("c", 3, 8), at(20));  // two servers are available, it needs three
  EXPECT_TRUE(scheduler.decide(at(20)).empty());
  EXPECT_EQ(scheduler.record(JobId{0}).running_tasks(), 4);
}

TEST(SchedulerElastic, DoesNotGrowWhileAJobWaits) {
  Scheduler scheduler(servers(4), {});
  scheduler.submit(job_of("b", 1, 8), at(0));
  scheduler.submit(elastic_of(4, 2), at(0));
  static_cast<void>(scheduler.decide(at(0)));
  ASSERT_EQ(scheduler.record(JobId{1}).running_tasks(), 3);
  scheduler.submit(job_of("c", 4, 8), at(5));  // waits for the whole machine
  EXPECT_TRUE(scheduler.decide(at(5)).empty());
  scheduler.finish(JobId{0}, at(6));
  EXPECT_TRUE(scheduler.decide(at(6)).resizes.empty());
}

TEST(SchedulerElastic, GrowsWithinItsQuotaAndItsDomain) {
  Scheduler scheduler(servers(6, 8, 3), {}, {tenant_of("a", 16, "")});
  Job job = elastic_of(6, 1);
  job.required = Level::rack;
  Job wall = job_of("b", 2, 8);
  wall.required = Level::rack;
  scheduler.submit(wall, at(0));
  static_cast<void>(scheduler.decide(at(0)));
  scheduler.submit(job_of("b", 3, 8), at(0));
  static_cast<void>(scheduler.decide(at(0)));
  scheduler.submit(job, at(1));
  ASSERT_EQ(scheduler.decide(at(1)).starts.size(), 1U);
  ASSERT_EQ(scheduler.record(JobId{2}).running_tasks(), 1);
  scheduler.finish(JobId{0}, at(2));
  scheduler.finish(JobId{1}, at(2));
  ASSERT_EQ(scheduler.decide(at(2)).resizes.size(), 1U);
  EXPECT_EQ(scheduler.record(JobId{2}).running_tasks(), 2);  // five servers are free, the quota allows two
  EXPECT_LE(tightest_level(scheduler.machine(), scheduler.record(JobId{2}).placement.slots), Level::rack);
  EXPECT_EQ(scheduler.broken_invariant(), "");
}

TEST(SchedulerElastic, RandomEventsGrowAndShrinkWithoutPingPong) {
  int grown = 0;
  int shrunk = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    RandomRun run(seed, servers(20, 8, 4), {}, {tenant_of("a", 64), tenant_of("b", 64)});
    for (int i = 0; i < 150; ++i) {
      ASSERT_TRUE(run.step()) << "seed " << seed << " step " << i;
      for (int again = 0; again < 4; ++again) ASSERT_TRUE(run.decide());  // a job that just started may still shrink
      const int before = run.grown + run.shrunk;
      ASSERT_TRUE(run.decide());
      ASSERT_TRUE(run.decide());
      ASSERT_EQ(run.grown + run.shrunk, before) << "resizes again though nothing happened, seed " << seed;
    }
    grown += run.grown;
    shrunk += run.shrunk;
  }
  EXPECT_GT(grown, 5);
  EXPECT_GT(shrunk, 5);
}

}  // namespace
}  // namespace weft::sched
