#include <set>

#include "base/test_places.h"
#include "model/load.h"
#include "sched/core/scheduler_test_help.h"

namespace weft::sched {
namespace {

TEST(SchedulerRepair, JobOfFiveHundredNodesSurvivesLossOfTwo) {
  Scheduler scheduler(servers(520, 8, 20), {});
  scheduler.submit(job_of("a", 500, 8), at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 1U);
  const std::vector<Slot> before = scheduler.record(JobId{0}).placement.slots;
  const std::vector<NodeId> lost{before[7].node, before[311].node};
  const Scheduler::Repair repair = scheduler.repair(lost, at(100));
  EXPECT_TRUE(repair.requeued.empty());
  ASSERT_EQ(repair.moves.size(), 1U);
  EXPECT_EQ(repair.moves[0].tasks, (std::vector<std::uint32_t>{7, 311}));
  EXPECT_DOUBLE_EQ(repair.moves[0].cost_gpu_seconds, 500.0 * 8 * 100);  // it writes no checkpoints
  const std::vector<Slot>& after = scheduler.record(JobId{0}).placement.slots;
  for (std::size_t task = 0; task < after.size(); ++task) {
    if (task == 7 || task == 311) {
      EXPECT_NE(after[task].node, before[task].node);
    } else {
      EXPECT_EQ(after[task], before[task]);
    }
  }
  EXPECT_EQ(scheduler.broken_invariant(), "");
}

TEST(SchedulerRepair, OneJobIsRepairedAndTheOthersAreLeftAlone) {
  Scheduler scheduler(servers(6, 8, 3), {});
  scheduler.submit(job_of("a", 4, 4), at(0));
  scheduler.submit(job_of("a", 4, 4), at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 2U);
  const std::vector<Slot> first = scheduler.record(JobId{0}).placement.slots;
  const std::vector<Slot> second = scheduler.record(JobId{1}).placement.slots;
  scheduler.node_down(first[0].node, at(1));
  EXPECT_TRUE(scheduler.repair_job(JobId{0}, at(2)));
  EXPECT_NE(scheduler.record(JobId{0}).placement.slots, first);
  EXPECT_EQ(scheduler.record(JobId{1}).placement.slots, second);
  for (const Slot& slot : scheduler.record(JobId{0}).placement.slots) EXPECT_TRUE(scheduler.state().free(slot.node).up);
  EXPECT_EQ(scheduler.broken_invariant(), "");
  for (std::uint32_t n = 0; n < 6; ++n) scheduler.node_down(NodeId{n}, at(3));
  EXPECT_FALSE(scheduler.repair_job(JobId{0}, at(4)));
  EXPECT_EQ(scheduler.record(JobId{0}).phase, JobPhase::waiting);
}

TEST(SchedulerRepair, RunningJobsAreAdoptedWithTheirUsage) {
  Scheduler before(servers(4), {}, {tenant_of("a", 16), tenant_of("b", 16)});
  before.submit(job_of("a", 3, 8), at(0));
  before.submit(job_of("b", 2, 8), at(0));
  ASSERT_EQ(before.decide(at(0)).starts.size(), 1U);
  const JobRecord& running = before.record(JobId{0});
  Scheduler after(servers(4), {}, {tenant_of("a", 16), tenant_of("b", 16)});
  after.restore_use("a", before.tenants().decayed_use(0, at(500)), at(500));
  after.adopt(running.job, running.placement, running.charge, running.queued, running.started, at(500));
  after.submit(job_of("b", 2, 8), at(500));
  EXPECT_EQ(after.broken_invariant(), "");
  EXPECT_TRUE(after.decide(at(500)).starts.empty());
  EXPECT_EQ(after.record(JobId{0}).started, at(0));
  EXPECT_NEAR(after.tenants().decayed_use(0, at(600)), before.tenants().decayed_use(0, at(600)), 1e-6);
  after.finish(JobId{0}, at(700));
  EXPECT_EQ(after.decide(at(700)).starts.size(), 1U);
}

TEST(SchedulerRepair, ReplacementIsAsNearAsPossible) {
  Scheduler scheduler(servers(12, 8, 4), {});
  scheduler.submit(job_of("a", 6, 8), at(0));  // a rack and a half
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 1U);
  const std::vector<Slot> before = scheduler.record(JobId{0}).placement.slots;
  const NodeId lost = before[5].node;  // in the rack that is half free
  const Scheduler::Repair repair = scheduler.repair(std::vector<NodeId>{lost}, at(1));
  ASSERT_EQ(repair.moves.size(), 1U);
  EXPECT_EQ(scheduler.machine().domain_of(Level::rack, repair.moves[0].to[0].node),
            scheduler.machine().domain_of(Level::rack, lost));
}

TEST(SchedulerRepair, RequiredDomainIsKeptOrTheJobWaits) {
  Scheduler scheduler(servers(8, 8, 4), {});
  Job job = job_of("a", 4, 8);
  job.required = Level::rack;
  scheduler.submit(job, at(0));
  Job elastic = job_of("b", 4, 8);
  elastic.required = Level::rack;
  elastic.min_tasks = 3;
  scheduler.submit(elastic, at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 2U);
  const std::vector<NodeId> lost{scheduler.record(JobId{0}).placement.slots[1].node,
                                 scheduler.record(JobId{1}).placement.slots[2].node};
  const Scheduler::Repair repair = scheduler.repair(lost, at(5));
  EXPECT_TRUE(repair.moves.empty());
  ASSERT_EQ(repair.requeued.size(), 1U);
  EXPECT_EQ(repair.requeued[0], JobId{0});
  ASSERT_EQ(repair.resizes.size(), 1U);
  EXPECT_EQ(repair.resizes[0].job, JobId{1});
  EXPECT_EQ(scheduler.record(JobId{1}).running_tasks(), 3);
  EXPECT_EQ(scheduler.record(JobId{0}).job.submitted, Moment{});
  EXPECT_EQ(scheduler.record(JobId{0}).phase, JobPhase::waiting);
  EXPECT_EQ(scheduler.broken_invariant(), "");
}

TEST(SchedulerRepair, SegmentsStayTogether) {
  Scheduler scheduler(servers(12, 8, 4), {});
  Job job = job_of("a", 6, 8);
  job.segment = 3;
  job.segment_level = Level::rack;
  scheduler.submit(job, at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 1U);
  const NodeId lost = scheduler.record(JobId{0}).placement.slots[1].node;
  const Scheduler::Repair repair = scheduler.repair(std::vector<NodeId>{lost}, at(1));
  ASSERT_EQ(repair.moves.size(), 1U);
  const std::vector<Slot>& slots = scheduler.record(JobId{0}).placement.slots;
  for (std::size_t first = 0; first < 6; first += 3) {
    EXPECT_LE(tightest_level(scheduler.machine(), {&slots[first], 3}), Level::rack);
  }
}

TEST(SchedulerRepair, RandomFailuresNeverBreakTheBooks) {
  int swapped = 0;
  int requeued = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Policy policy;
    policy.backfill = seed % 2 == 0 ? Backfill::greedy : Backfill::reserved;
    policy.defragment = seed % 3 == 0;
    RandomRun run(seed, servers(12, 8, 4), policy, {tenant_of("a", 32), tenant_of("b", 40)});
    run.failures = true;
    for (int i = 0; i < 150; ++i) ASSERT_TRUE(run.step()) << "seed " << seed << " step " << i;
    swapped += run.swapped;
    requeued += run.requeued;
  }
  EXPECT_GT(swapped, 20);
  EXPECT_GT(requeued, 5);
}

// Two servers of the pool are spares. A job on all the others loses two at once and continues on the spares; the
// recovered nodes become spares.
TEST(SchedulerRepair, SparesReplaceLostNodes) {
  const auto loaded = model::load_cluster(source_dir() + "/examples/pod32.yaml", {});
  ASSERT_TRUE(loaded->cluster != nullptr);
  model::Spec spec = *loaded->spec;
  for (model::PoolSpec& pool : spec.pools.value) {
    if (pool.role.value == model::PoolRole::training) pool.spares = std::int64_t{2};
  }
  Diagnostics diagnostics;
  const auto cluster = model::compile(std::move(spec), loaded->catalog, diagnostics);
  ASSERT_TRUE(cluster != nullptr);
  const auto machine = std::make_shared<const Machine>(*Machine::of(*cluster));
  ASSERT_EQ(machine->spares().size(), 2U);
  const auto count = static_cast<std::int32_t>(machine->nodes().size());
  Scheduler scheduler(machine, {});
  EXPECT_EQ(scheduler.nodes_lost(), 0U);
  const JobId whole = scheduler.submit(job_of("t", count - 1, 8), at(0));
  EXPECT_EQ(scheduler.why(whole, at(0)).reason, Reason::impossible);  // spares are not used for ordinary starts
  const JobId id = scheduler.submit(job_of("t", count - 2, 8), at(0));
  ASSERT_EQ(scheduler.decide(at(0)).starts.size(), 1U);
  const std::vector<Slot> before = scheduler.record(id).placement.slots;
  const std::vector<NodeId> lost{before[3].node, before[7].node};
  const Scheduler::Repair repair = scheduler.repair(lost, at(10));
  ASSERT_EQ(repair.moves.size(), 1U);
  EXPECT_TRUE(repair.requeued.empty());
  EXPECT_EQ(scheduler.record(id).running_tasks(), count - 2);
  std::set<NodeId> used;
  for (const Slot& slot : scheduler.record(id).placement.slots) used.insert(slot.node);
  for (const NodeId spare : machine->spares()) EXPECT_EQ(used.count(spare), 1U);
  for (const NodeId node : lost) EXPECT_EQ(used.count(node), 0U);
  EXPECT_EQ(scheduler.nodes_lost(), 2U);
  EXPECT_EQ(scheduler.broken_invariant(), "");
  for (const NodeId node : lost) scheduler.node_up(node, at(20));
  EXPECT_EQ(scheduler.nodes_lost(), 0U);
  for (const NodeId node : lost) EXPECT_TRUE(scheduler.kept_aside(node));
}

}  // namespace
}  // namespace weft::sched
