#include "sched/explain/explain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/random.h"
#include "sched/explain/view.h"
#include "sched/machine/plain_machine.h"

namespace weft::sched {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const Machine> machine_of(std::int32_t nodes) {
  PlainMachine plain;
  plain.nodes = nodes;
  plain.rack = 2;
  plain.leaf = 4;
  plain.pod = 0;
  return std::make_shared<const Machine>(plain_machine(plain));
}

Job job_of(const std::string& name, std::int32_t tasks, std::int32_t gpus, std::int64_t limit) {
  Job job;
  job.name = name;
  job.tenant = "ann";
  job.tasks = tasks;
  job.task.gpus = gpus;
  job.limit = seconds(limit);
  return job;
}

const Change* find(const Explanation& explanation, ChangeKind kind) {
  for (const Change& change : explanation.changes) {
    if (change.kind == kind) return &change;
  }
  return nullptr;
}

// 8 nodes, one of them used for 1000 s: a job of 8 waits, one of 7 would start.
TEST(Explain, SevenNodesInsteadOfEight) {
  Scheduler scheduler(machine_of(8), {});
  const JobId small = scheduler.submit(job_of("small", 1, 8, 1'000), {});
  (void)scheduler.decide({});
  const Moment now(seconds(10).count());
  const JobId big = scheduler.submit(job_of("big", 8, 8, 100), now);
  (void)scheduler.decide(now);
  const Explanation why = explain(scheduler, big, now);
  EXPECT_EQ(why.reason, Reason::capacity);
  EXPECT_EQ(why.expected.count(), seconds(1'000).count());
  EXPECT_THAT(why.sentence, HasSubstr("requests 64 GPUs, 56 free on 7 nodes"));
  EXPECT_THAT(why.sentence, HasSubstr("when job small ends"));
  ASSERT_EQ(why.blockers.size(), 1U);
  EXPECT_EQ(why.blockers[0].job, small);
  const Change* tasks = find(why, ChangeKind::fewer_tasks);
  ASSERT_NE(tasks, nullptr);
  EXPECT_EQ(tasks->from + " " + tasks->to, "8 7");
  EXPECT_EQ(tasks->starts, now);
  const Change* end = find(why, ChangeKind::job_ends);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->ended, small);
  EXPECT_EQ(&why.changes[0], tasks) << "the least that is asked comes first";
}

// The same for a reader who may not see the job that runs: nothing tells which it is, or how many there are.
TEST(Explain, AnAudienceThatSeesOneTenant) {
  Scheduler scheduler(machine_of(8), {});
  Job secret = job_of("secret", 1, 8, 1'000);
  secret.tenant = "mallory";
  (void)scheduler.submit(secret, {});
  (void)scheduler.submit(secret, {});
  (void)scheduler.decide({});
  const JobId big = scheduler.submit(job_of("big", 8, 8, 100), {});
  (void)scheduler.decide({});
  ExplainOptions options;
  options.audience = {[](const Job& job) { return job.tenant == "ann"; },
                      [](std::string_view tenant) { return tenant == "ann"; }};
  const Explanation why = explain(scheduler, big, {}, options);
  EXPECT_EQ(why.expected.count(), seconds(1'000).count());
  EXPECT_THAT(why.sentence, HasSubstr("when a job of another tenant ends"));
  ASSERT_EQ(why.blockers.size(), 1U);
  EXPECT_EQ(why.blockers[0].job, std::nullopt);
  EXPECT_EQ(why.blockers[0].gpu_milli, 0);
  EXPECT_EQ(find(why, ChangeKind::job_ends), nullptr);
  const Change* priority = find(why, ChangeKind::priority);
  EXPECT_TRUE(priority == nullptr || (priority->victims.empty() && priority->foreign_victims));
  const std::string page = write(explanation_view(scheduler, why), {OutputFormat::json});
  EXPECT_THAT(page, HasSubstr("a job of another tenant, or several"));
  EXPECT_THAT(page, Not(AnyOf(HasSubstr("secret"), HasSubstr("mallory"))));

  StatusOptions of_status;
  of_status.audience = options.audience;
  Job later = secret;
  later.tasks = 8;
  later.priority = 9;
  (void)scheduler.submit(later, {});
  (void)scheduler.decide({});
  const ClusterStatus status = cluster_status(scheduler, {}, of_status);
  EXPECT_EQ(status.running, 2U);
  EXPECT_EQ(status.waiting, 2U) << "totals of the cluster";
  EXPECT_EQ(status.queued, 1U);
  EXPECT_EQ(status.queue.size(), 1U);
  ASSERT_EQ(status.tenants.size(), 1U);
  EXPECT_EQ(status.tenants[0].name, "ann");
}

TEST(Explain, DownRackAndTooTightDomain) {
  Scheduler scheduler(machine_of(8), {});
  scheduler.node_down(static_cast<NodeId>(2), {});
  scheduler.node_down(static_cast<NodeId>(3), {});
  Job job = job_of("gang", 4, 8, 100);
  job.required = Level::leaf;
  (void)scheduler.submit(job_of("other", 1, 8, 500), {});
  (void)scheduler.decide({});
  const JobId id = scheduler.submit(job, {});
  (void)scheduler.decide({});
  // "other" was placed in the leaf group with less capacity, nodes 0 and 1; the second has four nodes: the gang runs
  // there.
  EXPECT_EQ(scheduler.why(id, {}).reason, Reason::none);
  const JobId second = scheduler.submit(job, {});
  (void)scheduler.decide({});
  const Explanation why = explain(scheduler, second, {});
  EXPECT_EQ(why.reason, Reason::capacity);
  const JobId third = scheduler.submit(job_of("three", 3, 8, 100), {});
  (void)scheduler.decide({});
  const Explanation down = explain(scheduler, third, {});
  EXPECT_EQ(down.reason, Reason::nodes_down);
  const Change* back = find(down, ChangeKind::nodes_return);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->nodes.size(), 2U);
  EXPECT_THAT(back->what, HasSubstr("rack-2"));
}

TEST(Explain, QuotaReportsTheMissingAmount) {
  TenantPolicy ann;
  ann.name = "ann";
  ann.quota.gpu_milli = 24'000;
  Scheduler scheduler(machine_of(8), {}, {ann});
  (void)scheduler.submit(job_of("first", 2, 8, 500), {});
  const JobId id = scheduler.submit(job_of("second", 2, 8, 500), {});
  (void)scheduler.decide({});
  const Explanation why = explain(scheduler, id, {});
  EXPECT_EQ(why.reason, Reason::quota);
  EXPECT_EQ(why.expected.count(), seconds(500).count()) << "seen by looking ahead: quota gets no reservation";
  const Change* quota = find(why, ChangeKind::quota);
  ASSERT_NE(quota, nullptr);
  EXPECT_EQ(quota->to, "32 GPUs");
  const Change* tasks = find(why, ChangeKind::fewer_tasks);
  ASSERT_NE(tasks, nullptr);
  EXPECT_EQ(tasks->to, "1");
}

// Without reservations the start is a forecast: 1000 s of the running job less the 10 s that it has run.
TEST(Explain, ForecastNamesItsAssumption) {
  Policy policy;
  policy.backfill = Backfill::greedy;
  Scheduler scheduler(machine_of(8), policy);
  (void)scheduler.submit(job_of("small", 1, 8, 1'000), {});
  (void)scheduler.decide({});
  const Moment now(seconds(10).count());
  const JobId big = scheduler.submit(job_of("big", 8, 8, 100), now);
  (void)scheduler.decide(now);
  const Explanation why = explain(scheduler, big, now);
  EXPECT_EQ(why.known, Known::forecast);
  EXPECT_THAT(why.sentence, HasSubstr("starts in 16 min 30 s if all running jobs run until their time limits, when job "
                                      "small ends"));
}

TEST(Explain, ShorterLimitFitsBeforeTheReservation) {
  Policy policy;
  policy.order = Order::fifo;
  Scheduler scheduler(machine_of(4), policy);
  (void)scheduler.submit(job_of("runs", 2, 8, 1'000), {});
  (void)scheduler.submit(job_of("large", 4, 8, 1'000), {});
  const JobId id = scheduler.submit(job_of("long", 1, 8, 5'000), {});
  (void)scheduler.decide({});
  const Explanation why = explain(scheduler, id, {});
  EXPECT_EQ(why.reason, Reason::reserved);
  EXPECT_THAT(why.sentence, HasSubstr("would delay job large"));
  const Change* limit = find(why, ChangeKind::shorter_limit);
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(limit->job->limit, seconds(1'000));
  EXPECT_EQ(limit->starts, Moment());
}

TEST(Explain, NoStartTimeBehindJobsWithoutLimit) {
  Scheduler scheduler(machine_of(1), {});
  Job job = job_of("endless", 1, 8, 1);
  job.limit = kUnlimited;
  (void)scheduler.submit(job, {});
  const JobId id = scheduler.submit(job_of("next", 1, 8, 100), {});
  (void)scheduler.decide({});
  const Explanation why = explain(scheduler, id, {});
  EXPECT_EQ(why.known, Known::unlimited);
  EXPECT_THAT(why.sentence, HasSubstr("without a time limit"));
}

TEST(Explain, PlacementAndItsAlternatives) {
  Scheduler scheduler(machine_of(8), {});
  const JobId id = scheduler.submit(job_of("pair", 2, 8, 100), {});
  (void)scheduler.decide({});
  const PlacementExplanation place = explain_placement(scheduler, id, natural_demand(scheduler.machine()));
  EXPECT_EQ(place.chosen.level, Level::rack);
  EXPECT_EQ(place.chosen.domains[static_cast<std::size_t>(Level::node)], 2U);
  EXPECT_EQ(place.chosen.domains[static_cast<std::size_t>(Level::leaf)], 1U);
  EXPECT_TRUE(place.chosen.rails_aligned);
  ASSERT_FALSE(place.alternatives.empty());
  EXPECT_LE(place.chosen.level, place.alternatives[0].score.level);
  EXPECT_THAT(write(placement_view(scheduler, place), {}), HasSubstr("Its placement and alternatives"));
}

TEST(Explain, ClusterStatusSummary) {
  TenantPolicy ann;
  ann.name = "ann";
  ann.cohort = "lab";
  ann.quota.gpu_milli = 8'000;
  TenantPolicy ben = ann;
  ben.name = "ben";
  ben.quota.gpu_milli = 24'000;
  Scheduler scheduler(machine_of(4), {}, {ann, ben});
  (void)scheduler.submit(job_of("first", 2, 8, 500), {});
  (void)scheduler.submit(job_of("second", 3, 8, 500), {});
  (void)scheduler.decide({});
  const ClusterStatus status = cluster_status(scheduler, {});
  EXPECT_EQ(status.used_gpu_milli, 16'000);
  ASSERT_EQ(status.tenants.size(), 2U);
  EXPECT_EQ(status.tenants[0].borrowed_gpu_milli, 8'000);
  EXPECT_EQ(status.tenants[1].lent_gpu_milli, 8'000);
  ASSERT_EQ(status.queue.size(), 1U);
  EXPECT_EQ(status.queue[0].expected.count(), seconds(500).count());
  EXPECT_THAT(write(status_view(scheduler, status), {}), HasSubstr("Waiting jobs by reason"));
}

// FGD's formula for one server, written out: everything idle if the task does not fit, else the GPUs too small for it.
double by_hand(const State& state, const Request& task) {
  double lost = 0;
  double idle = 0;
  for (std::uint32_t n = 0; n < state.machine().nodes().size(); ++n) {
    const NodeFree& free = state.free(static_cast<NodeId>(n));
    if (!free.up) continue;
    idle += free.gpu_total();
    if (!fits(task, free)) {
      lost += free.gpu_total();
      continue;
    }
    for (std::size_t g = 0; g < free.gpus; ++g) lost += free.gpu[g] < task.gpu_milli ? free.gpu[g] : 0;
  }
  return idle > 0 ? lost / idle : 0;
}

TEST(ClusterFragmentation, OneTaskIsFgdAndThePartsAddUp) {
  RandomStream random(3, "fragmentation");
  State state(machine_of(12));
  std::vector<DemandKind> demand = natural_demand(state.machine());
  demand.push_back({Request{.cpu = 4'000, .gpus = 1, .gpu_milli = 500}, 1, Level::node, 2});
  ClusterFragmentation followed(demand);
  for (std::uint32_t job = 0; job < 60; ++job) {
    Request task;
    task.gpus = static_cast<std::int32_t>(random.between(1, 4));
    task.cpu = 8'000;
    if (task.gpus == 1) task.gpu_milli = 300;
    const auto node = static_cast<NodeId>(random.below(12));
    std::optional<Slot> slot = choose_slot(task, state.machine().node(node), state.free(node));
    if (!slot) continue;
    slot->node = node;
    state.place(static_cast<JobId>(job), task, {&*slot, 1});
    const auto switched = static_cast<NodeId>(random.below(12));
    const bool up = random.chance(0.5);
    if (random.chance(0.1)) state.set_up(switched, up);
    const FragmentationScore score = followed.measure(state);
    ClusterFragmentation anew(demand);
    EXPECT_DOUBLE_EQ(score.total, anew.measure(state).total) << "following the log and a fresh look agree";
    double sum = score.gpu;
    for (const double part : score.at) sum += part;
    EXPECT_NEAR(sum, score.total, 1e-12);
    double weighted = 0;
    for (std::size_t kind = 0; kind < demand.size(); ++kind) {
      if (demand[kind].tasks == 1) {
        EXPECT_NEAR(score.kinds[kind], by_hand(state, demand[kind].task), 1e-12);
      }
      weighted += score.kinds[kind] * followed.demand()[kind].share;
    }
    EXPECT_NEAR(weighted, score.total, 1e-12);
    EXPECT_LE(score.total, 1 + 1e-12);
  }
}

// Two leaf groups of four: one server used in each leaves 6 free, unusable for a gang of 4 in one leaf group.
TEST(ClusterFragmentation, GangCountsIdleGpusItsDomainsCannotServe) {
  State state(machine_of(8));
  Request task;
  task.gpus = 8;
  ClusterFragmentation fragmentation({{task, 4, Level::leaf, 1}});
  EXPECT_DOUBLE_EQ(fragmentation.measure(state).total, 0);
  for (const std::uint32_t node : {0U, 4U}) {
    Slot slot;
    slot.node = static_cast<NodeId>(node);
    slot.gpus = 0xFF;
    state.place(static_cast<JobId>(node), task, {&slot, 1});
    const FragmentationScore score = fragmentation.measure(state);
    EXPECT_DOUBLE_EQ(score.at[static_cast<std::size_t>(Level::leaf)], node == 0 ? 3.0 / 7 : 1);
    EXPECT_DOUBLE_EQ(score.total, node == 0 ? 3.0 / 7 : 1);
  }
}

}  // namespace
}  // namespace weft::sched
