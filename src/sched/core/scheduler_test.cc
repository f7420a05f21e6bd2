#include "sched/core/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sched/machine/plain_machine.h"

namespace weft::sched {
namespace {

std::shared_ptr<const Machine> plain(std::int32_t nodes, std::int32_t rack = 4, std::int32_t leaf = 16) {
  PlainMachine machine;
  machine.nodes = nodes;
  machine.rack = rack;
  machine.leaf = leaf;
  machine.pod = leaf * 4;
  return std::make_shared<const Machine>(plain_machine(machine));
}

// Gangs of whole nodes with a limit of `minutes`.
Job gang(const std::string& name, std::int32_t nodes, std::int64_t minutes, std::int32_t priority = 0) {
  Job job;
  job.name = name;
  job.tenant = "t";
  job.task.gpus = 8;
  job.tasks = nodes;
  job.limit = seconds(minutes * 60);
  job.priority = priority;
  return job;
}

Moment at(std::int64_t minutes) { return Moment() + seconds(minutes * 60); }

Policy policy_of(Backfill backfill, Order order = Order::fifo) {
  Policy policy;
  policy.backfill = backfill;
  policy.order = order;
  policy.preemption = false;
  return policy;
}

std::vector<std::string> started(const Scheduler& scheduler, const Decisions& decisions) {
  std::vector<std::string> names;
  for (const Start& start : decisions.starts) names.push_back(scheduler.record(start.job).job.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Scheduler, GangsStartAllOrNothing) {
  Scheduler scheduler(plain(8), policy_of(Backfill::greedy));
  scheduler.submit(gang("a", 6, 60), at(0));
  scheduler.submit(gang("b", 4, 60), at(0));
  const Decisions decisions = scheduler.decide(at(0));
  EXPECT_EQ(started(scheduler, decisions), Names{"a"});
  EXPECT_EQ(decisions.starts[0].placement.slots.size(), 6U);
  EXPECT_EQ(scheduler.state().free_gpu_milli(), 16 * kWholeGpu);
  EXPECT_EQ(scheduler.broken_invariant(), "");
}

TEST(Scheduler, StrictOrderDoesNotBackfill) {
  Scheduler scheduler(plain(8), policy_of(Backfill::none));
  scheduler.submit(gang("a", 6, 60), at(0));
  scheduler.submit(gang("b", 8, 60), at(0));
  scheduler.submit(gang("c", 1, 1), at(0));
  EXPECT_EQ(started(scheduler, scheduler.decide(at(0))), Names{"a"});
  scheduler.finish(JobId{0}, at(30));
  EXPECT_EQ(started(scheduler, scheduler.decide(at(30))), Names{"b"});
}

// The classic EASY example (Lifka 1995): a runs on 6 of 8 nodes for an hour, b needs all 8. c fits beside a: it may
// start only if it ends before b's reservation. b uses all 8 nodes, so there are no extra nodes.
TEST(Scheduler, BackfillNeverDelaysTheReservation) {
  Scheduler scheduler(plain(8), policy_of(Backfill::reserved));
  scheduler.submit(gang("a", 6, 60), at(0));
  scheduler.decide(at(0));
  scheduler.submit(gang("b", 8, 60), at(1));
  scheduler.submit(gang("long", 2, 60), at(1));
  scheduler.submit(gang("short", 2, 59), at(1));
  const Decisions decisions = scheduler.decide(at(1));
  EXPECT_EQ(started(scheduler, decisions), Names{"short"});
  EXPECT_TRUE(decisions.starts[0].backfilled);
  ASSERT_EQ(scheduler.reservations().size(), 2U);
  EXPECT_EQ(scheduler.reservations()[0].start, at(60));
  EXPECT_EQ(scheduler.reservations()[1].start, at(120));  // the long one after b
  scheduler.finish(JobId{0}, at(20));                     // a ends early: b waits for the short job
  EXPECT_TRUE(scheduler.decide(at(20)).starts.empty());
  EXPECT_EQ(scheduler.reservations()[0].start, at(60));
  scheduler.finish(JobId{3}, at(40));
  EXPECT_EQ(started(scheduler, scheduler.decide(at(40))), Names{"b"});
}

// Reservations hold GPUs, not nodes: others may use what a reservation leaves of a node, past its start too.
TEST(Scheduler, ReservationsShareNodes) {
  Scheduler scheduler(plain(1), policy_of(Backfill::reserved));
  Job four = gang("four", 1, 60);
  four.task.gpus = 4;
  scheduler.submit(four, at(0));
  Job two = gang("two", 1, 600);
  two.task.gpus = 2;
  scheduler.submit(two, at(0));
  scheduler.decide(at(0));
  Job six = gang("six", 1, 60);
  six.task.gpus = 6;
  scheduler.submit(six, at(1));  // at minute 60 six GPUs are free, never two more
  Job endless = gang("endless", 1, 6000);
  endless.task.gpus = 1;
  scheduler.submit(endless, at(2));
  EXPECT_TRUE(scheduler.decide(at(2)).starts.empty());  // would hold a GPU that `six` needs
  EXPECT_EQ(scheduler.reservations()[0].start, at(60));
  scheduler.finish(JobId{2}, at(3));
  Job five = gang("five", 1, 60);
  five.task.gpus = 5;
  scheduler.submit(five, at(3));  // leaves one
  const Decisions decisions = scheduler.decide(at(3));
  EXPECT_EQ(started(scheduler, decisions), Names{"endless"});
  EXPECT_EQ(scheduler.reservations()[0].start, at(60));
}

TEST(Scheduler, GreedyStarvesLargeGangsAndReservationsDoNot) {
  for (const Backfill backfill : {Backfill::greedy, Backfill::reserved}) {
    Scheduler scheduler(plain(4), policy_of(backfill));
    JobId big{};
    Moment big_start = kNever;
    std::vector<std::pair<Moment, JobId>> ends;
    for (int minute = 0; minute < 300; ++minute) {
      for (std::size_t i = 0; i < ends.size();) {
        if (ends[i].first > at(minute)) {
          ++i;
          continue;
        }
        scheduler.finish(ends[i].second, at(minute));
        ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (minute % 5 == 0) scheduler.submit(gang("small", 1, 30), at(minute));
      if (minute == 10) big = scheduler.submit(gang("big", 4, 10), at(minute));
      for (const Start& start : scheduler.decide(at(minute)).starts) {
        if (start.job == big && minute >= 10) big_start = at(minute);
        ends.emplace_back(at(minute) + scheduler.record(start.job).job.limit, start.job);
      }
    }
    if (backfill == Backfill::greedy) {
      EXPECT_EQ(big_start, kNever);
    } else {
      EXPECT_LE(big_start, at(40));  // the last small job ahead of it started at minute 10 and runs for 30
    }
  }
}

TEST(Scheduler, PrioritiesAndFairShareOrderTheQueue) {
  Scheduler scheduler(plain(1), policy_of(Backfill::greedy, Order::fair));
  Job first = gang("first", 1, 60);
  first.tenant = "heavy";
  scheduler.submit(first, at(0));
  scheduler.decide(at(0));
  Job heavy = gang("heavy", 1, 60);
  heavy.tenant = "heavy";
  Job light = gang("light", 1, 60);
  light.tenant = "light";
  scheduler.submit(heavy, at(1));
  scheduler.submit(light, at(2));
  Job urgent = gang("urgent", 1, 60, 10);
  urgent.tenant = "heavy";
  scheduler.submit(urgent, at(3));
  scheduler.decide(at(3));
  Names order;
  for (const JobId id : scheduler.queue(at(3))) order.push_back(scheduler.record(id).job.name);
  EXPECT_EQ(order, (Names{"urgent", "light", "heavy"}));
}

TEST(Scheduler, MultifactorWeighsAgeAndFairShare) {
  Policy policy = policy_of(Backfill::greedy);
  policy.age_weight = 100;
  policy.max_age = seconds(3600);
  Scheduler scheduler(plain(1), policy);
  scheduler.submit(gang("running", 1, 600), at(0));
  scheduler.decide(at(0));
  scheduler.submit(gang("old", 1, 60, 0), at(1));
  scheduler.submit(gang("new", 1, 60, 50), at(31));
  scheduler.decide(at(31));
  EXPECT_EQ(scheduler.queue(at(31)).front(), JobId{1});  // thirty minutes of 60 weigh 50: a tie, the older first
  EXPECT_EQ(scheduler.queue(at(32)).size(), 2U);
}

// A tenant with high usage waits behind those with less, but not forever: after a day its oldest job goes first.
TEST(Scheduler, StarvingJobGoesFirstAfterPatience) {
  Policy policy = policy_of(Backfill::reserved, Order::fair);
  policy.patience = seconds(86'400);
  Scheduler scheduler(plain(1), policy);
  Job heavy = gang("heavy", 1, 600);
  heavy.tenant = "heavy";
  scheduler.submit(heavy, at(0));
  scheduler.decide(at(0));
  heavy.name = "again";
  const JobId again = scheduler.submit(heavy, at(1));
  Moment started = kNever;
  JobId running{0};
  for (int minute = 10; minute < 3000; minute += 10) {  // a light tenant always has a short job waiting
    Job light = gang("light", 1, 10);
    light.tenant = "light" + std::to_string(minute);
    scheduler.submit(light, at(minute));
    scheduler.finish(running, at(minute));
    for (const Start& start : scheduler.decide(at(minute)).starts) {
      running = start.job;
      if (start.job == again) started = at(minute);
    }
    if (started != kNever) break;
  }
  EXPECT_GT(started, at(24 * 60));
  EXPECT_LE(started, at(24 * 60 + 20));
}

TEST(Scheduler, QuotasAreEnforcedAndBorrowingIsBounded) {
  TenantPolicy a;
  a.name = "a";
  a.cohort = "c";
  a.quota = {32 * kWholeGpu, kNoLimit, kNoLimit};
  a.borrow = {8 * kWholeGpu, kNoLimit, kNoLimit};
  TenantPolicy b = a;
  b.name = "b";
  Scheduler scheduler(plain(8), policy_of(Backfill::greedy), {a, b});
  for (int i = 0; i < 8; ++i) {
    Job job = gang("a" + std::to_string(i), 1, 60);
    job.tenant = "a";
    scheduler.submit(job, at(0));
  }
  const Decisions decisions = scheduler.decide(at(0));
  EXPECT_EQ(decisions.starts.size(), 5U);  // four of its own, one borrowed
  EXPECT_EQ(decisions.starts[3].charge, Charge::guaranteed);
  EXPECT_EQ(decisions.starts[4].charge, Charge::borrowed);
  EXPECT_EQ(scheduler.broken_invariant(), "");
  scheduler.finish(JobId{0}, at(1));
  EXPECT_EQ(scheduler.record(JobId{4}).charge, Charge::guaranteed);  // its quota is free again
}

TEST(Scheduler, ImpossibleJobsDoNotBlockOthers) {
  Scheduler scheduler(plain(8), policy_of(Backfill::none));
  scheduler.submit(gang("huge", 9, 60), at(0));
  Job spread = gang("spread", 5, 60);
  spread.required = Level::rack;  // racks of four
  scheduler.submit(spread, at(0));
  scheduler.submit(gang("fine", 1, 60), at(0));
  EXPECT_EQ(started(scheduler, scheduler.decide(at(0))), Names{"fine"});
}

TEST(Scheduler, WaitsForThePreferredDomainUntilTheTimeout) {
  Scheduler scheduler(plain(8), policy_of(Backfill::greedy));
  scheduler.submit(gang("a", 1, 600), at(0));
  scheduler.decide(at(0));
  scheduler.submit(gang("b", 3, 600), at(0));
  scheduler.decide(at(0));  // the first rack is full
  scheduler.submit(gang("c", 1, 600), at(0));
  scheduler.decide(at(0));  // three nodes left in the second
  Job picky = gang("picky", 3, 60);
  picky.preferred = Level::node;  // not available
  picky.preference_wait = seconds(600);
  scheduler.submit(picky, at(1));
  EXPECT_TRUE(scheduler.decide(at(1)).starts.empty());
  EXPECT_EQ(scheduler.next_wake(at(1)), at(11));
  EXPECT_EQ(started(scheduler, scheduler.decide(at(11))), Names{"picky"});
}

TEST(Scheduler, HeldJobsWait) {
  Scheduler scheduler(plain(8), policy_of(Backfill::greedy));
  const JobId id = scheduler.submit(gang("a", 1, 60), at(0));
  scheduler.hold(id, at(10), at(0));
  EXPECT_TRUE(scheduler.decide(at(5)).starts.empty());
  EXPECT_EQ(scheduler.next_wake(at(5)), at(10));
  EXPECT_EQ(scheduler.decide(at(10)).starts.size(), 1U);
}

TEST(Scheduler, DownNodesGetNoTasks) {
  Scheduler scheduler(plain(2), policy_of(Backfill::reserved));
  scheduler.node_down(NodeId{0}, at(0));
  scheduler.submit(gang("a", 2, 60), at(0));
  EXPECT_TRUE(scheduler.decide(at(0)).starts.empty());
  EXPECT_TRUE(scheduler.reservations().empty());  // no job end would help
  scheduler.node_up(NodeId{0}, at(5));
  EXPECT_EQ(scheduler.decide(at(5)).starts.size(), 1U);
}

TEST(Scheduler, ElasticJobsStartWithAvailableResources) {
  Scheduler scheduler(plain(8), policy_of(Backfill::reserved));
  scheduler.submit(gang("a", 5, 60), at(0));
  Job elastic = gang("elastic", 8, 60);
  elastic.min_tasks = 2;
  scheduler.submit(elastic, at(0));
  const Decisions decisions = scheduler.decide(at(0));
  ASSERT_EQ(decisions.starts.size(), 2U);
  EXPECT_EQ(decisions.starts[1].placement.slots.size(), 3U);
}

TEST(Scheduler, CopyIsAWhatIf) {
  Scheduler scheduler(plain(8), policy_of(Backfill::reserved));
  scheduler.submit(gang("a", 6, 60), at(0));
  const JobId waiting = scheduler.submit(gang("b", 3, 60), at(0));
  scheduler.decide(at(0));
  Scheduler copy = scheduler;
  copy.replace(waiting, gang("b", 2, 60), at(0));
  EXPECT_EQ(copy.decide(at(0)).starts.size(), 1U);
  EXPECT_EQ(scheduler.record(waiting).phase, JobPhase::waiting);
  EXPECT_TRUE(scheduler.decide(at(0)).starts.empty());
}

}  // namespace
}  // namespace weft::sched
