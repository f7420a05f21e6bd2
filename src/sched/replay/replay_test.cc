#include "sched/replay/replay.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "sched/machine/plain_machine.h"
#include "sched/traces/gzip.h"

namespace weft::sched {
namespace {

std::shared_ptr<const Machine> servers(std::int32_t nodes, std::int32_t gpus = 8) {
  PlainMachine plain;
  plain.nodes = nodes;
  plain.gpus = gpus;
  return std::make_shared<const Machine>(plain_machine(plain));
}

// `nodes` whole servers of 8 GPUs from `at` on, for `run` seconds, with a limit of `limit` (0: equal to the run time).
Job whole(std::string name, std::int64_t at, std::int32_t nodes, std::int64_t run, std::int64_t limit = 0) {
  Job job;
  job.name = std::move(name);
  job.tenant = "t";
  job.submitted = Moment() + seconds(at);
  job.task.gpus = 8;
  job.tasks = nodes;
  job.run_time = seconds(run);
  job.limit = seconds(limit > 0 ? limit : run);
  return job;
}

ReplayOptions with(Backfill backfill, std::int32_t reservations = 1) {
  ReplayOptions options;
  options.policy.order = Order::fifo;
  options.policy.backfill = backfill;
  options.policy.reservations = reservations;
  options.policy.preemption = false;
  options.policy.elastic = false;
  return options;
}

std::vector<std::int64_t> starts_of(const ReplayResult& result) {
  std::vector<std::int64_t> starts;
  for (const JobOutcome& job : result.jobs)
    starts.push_back(job.first_start == kNever ? -1 : job.first_start.count() / 1'000'000'000);
  return starts;
}

using Seconds = std::vector<std::int64_t>;

// Two servers. A uses one for 10 s; B needs both; C needs one for 10 s (fits before B), D one for 20 s (does not).
std::vector<Job> classic() {
  return {whole("a", 0, 1, 10), whole("b", 1, 2, 5), whole("c", 2, 1, 8), whole("d", 3, 1, 20)};
}

TEST(Replay, StrictOrderDoesNotBackfill) {
  const ReplayResult result = replay(servers(2), classic(), with(Backfill::none));
  EXPECT_EQ(starts_of(result), (Seconds{0, 10, 15, 15}));
  EXPECT_EQ(result.end, Moment() + seconds(35));
  EXPECT_FALSE(result.jobs[2].backfilled);
}

TEST(Replay, ReservationsAllowBackfillWithoutDelay) {
  const ReplayResult result = replay(servers(2), classic(), with(Backfill::reserved));
  EXPECT_EQ(starts_of(result), (Seconds{0, 10, 2, 15}));
  EXPECT_TRUE(result.jobs[2].backfilled);
  EXPECT_EQ(result.jobs[1].waited, seconds(9));
}

TEST(Replay, GreedyDelaysTheGang) {
  // D cannot start before C ends at 10; at 10 both servers are free and B is ahead: greedy starts C at 2, B at 10. If D
  // arrives while A still runs and there is no C, it takes the server that B waits for.
  std::vector<Job> jobs = {whole("a", 0, 1, 10), whole("b", 1, 2, 5), whole("d", 3, 1, 20)};
  EXPECT_EQ(starts_of(replay(servers(2), jobs, with(Backfill::greedy))), (Seconds{0, 23, 3}));
  EXPECT_EQ(starts_of(replay(servers(2), jobs, with(Backfill::reserved))), (Seconds{0, 10, 15}));
}

// A stream of small jobs, one every 5 s for 10 s each, never leaves both servers free at once.
TEST(Replay, GangStarvesUnderGreedyAndStartsByItsReservation) {
  std::vector<Job> jobs = {whole("s", 0, 1, 10), whole("gang", 1, 2, 10)};
  for (std::int64_t at = 5; at < 500; at += 5) jobs.push_back(whole("s", at, 1, 10));
  const ReplayResult greedy = replay(servers(2), jobs, with(Backfill::greedy));
  const ReplayResult reserved = replay(servers(2), jobs, with(Backfill::reserved));
  EXPECT_GE(greedy.jobs[1].first_start, Moment() + seconds(500));
  EXPECT_EQ(reserved.jobs[1].first_start, Moment() + seconds(10));
}

TEST(Replay, EarlyEndMovesTheReservationForward) {
  // A's limit is 100 s but it runs 10: B starts when A ends; C (limit 90 s) fits before B's reservation at 100 and
  // starts at 2.
  std::vector<Job> jobs = {whole("a", 0, 1, 10, 100), whole("b", 1, 2, 5), whole("c", 2, 1, 8, 90)};
  EXPECT_EQ(starts_of(replay(servers(2), jobs, with(Backfill::reserved))), (Seconds{0, 10, 2}));
}

TEST(Replay, JobIsKilledAtItsLimit) {
  std::vector<Job> jobs = {whole("a", 0, 1, 100, 30), whole("b", 0, 1, 5)};
  ReplayOptions options = with(Backfill::none);
  ReplayResult result = replay(servers(1), jobs, options);
  EXPECT_TRUE(result.jobs[0].killed);
  EXPECT_EQ(result.jobs[0].end, Moment() + seconds(30));
  EXPECT_FALSE(result.jobs[1].killed);
  options.kill_at_limit = false;
  result = replay(servers(1), jobs, options);
  EXPECT_FALSE(result.jobs[0].killed);
  EXPECT_EQ(result.jobs[0].end, Moment() + seconds(100));
  EXPECT_EQ(starts_of(result), (Seconds{0, 100}));
}

TEST(Replay, JobsThatNeverFitAreCounted) {
  std::vector<Job> jobs = {whole("huge", 0, 3, 10), whole("a", 1, 1, 10)};
  const ReplayResult result = replay(servers(2), jobs, with(Backfill::reserved));
  EXPECT_EQ(result.never_started, 1U);
  EXPECT_EQ(starts_of(result), (Seconds{-1, 1}));
  EXPECT_EQ(result.end, Moment() + seconds(11));
  EXPECT_EQ(result.sums.waiting_seconds, 0.0);  // no waiting job could ever start
}

TEST(Replay, JobsWithoutAnEndKeepRunning) {
  Job job = whole("forever", 0, 1, 1);
  job.run_time = kUnlimited;
  job.limit = kUnlimited;
  Replay replay(servers(1), std::span(&job, 1), with(Backfill::none));
  EXPECT_FALSE(replay.run_until(Moment() + seconds(100)));  // no events left
  const ReplayResult result = replay.result();
  EXPECT_EQ(result.jobs[0].end, kNever);
  EXPECT_EQ(result.never_started, 0U);
}

// A node fails at 25 s under a job of 2 nodes and 100 s with checkpoints every 10 s and 7 s of startup. No third node:
// it waits for the node (back at 40 s), restarts from 20 s, and ends at 40 + 7 + 80.
TEST(Replay, FailureLosesTheWorkSinceTheCheckpoint) {
  Job job = whole("a", 0, 2, 100, 1000);
  job.checkpoint_interval = seconds(10);
  job.restart_cost = seconds(7);
  ReplayOptions options = with(Backfill::none);
  options.failures = {{static_cast<NodeId>(0), Moment() + seconds(25), Moment() + seconds(40)}};
  const ReplayResult result = replay(servers(2), std::span(&job, 1), options);
  const JobOutcome& outcome = result.jobs[0];
  EXPECT_EQ(outcome.end, Moment() + seconds(127));
  EXPECT_EQ(outcome.failures, 1U);
  EXPECT_EQ(outcome.waited, seconds(15));
  EXPECT_DOUBLE_EQ(outcome.lost_gpu_seconds, 16.0 * (5 + 7));
  EXPECT_DOUBLE_EQ(outcome.gpu_seconds, 16.0 * (25 + 87));
  EXPECT_DOUBLE_EQ(result.sums.used_gpu_seconds, outcome.gpu_seconds);
  EXPECT_DOUBLE_EQ(result.sums.up_gpu_seconds, 16.0 * 127 - 8.0 * 15);
}

TEST(Replay, FailureWithoutCheckpointsLosesEverything) {
  Job job = whole("a", 0, 1, 100, 1000);
  ReplayOptions options = with(Backfill::none);
  options.failures = {{static_cast<NodeId>(0), Moment() + seconds(60), Moment() + seconds(61)}};
  const ReplayResult result = replay(servers(1), std::span(&job, 1), options);
  EXPECT_EQ(result.jobs[0].end, Moment() + seconds(161));
  EXPECT_DOUBLE_EQ(result.jobs[0].lost_gpu_seconds, 8.0 * 60);
}

TEST(Replay, FailureOfAnIdleNodeDoesNotAffectRunningJobs) {
  std::vector<Job> jobs = {whole("a", 0, 1, 100), whole("b", 10, 1, 10)};
  ReplayOptions options = with(Backfill::none);
  options.keep_nodes = true;
  const ReplayResult before = replay(servers(2), jobs, options);
  ASSERT_EQ(before.jobs[0].nodes.size(), 1U);
  const auto other = static_cast<NodeId>(1 - index_of(before.jobs[0].nodes[0]));
  options.failures = {{other, Moment() + seconds(5), Moment() + seconds(30)},
                      {other, Moment() + seconds(20), Moment() + seconds(50)}};  // overlapping: down from 5 to 50
  const ReplayResult result = replay(servers(2), jobs, options);
  EXPECT_EQ(starts_of(result), (Seconds{0, 50}));
  EXPECT_EQ(result.jobs[0].failures, 0U);
}

// One server. The job running since 0 s is notified at 25 s; a higher-priority one of 20 s replaces it.
struct Preempted {
  ReplayResult result;
  explicit Preempted(std::int64_t grace, bool on_notice) {
    std::vector<Job> jobs = {whole("low", 0, 1, 100, 1000), whole("high", 25, 1, 20)};
    jobs[0].checkpoint_interval = seconds(10);
    jobs[0].restart_cost = seconds(5);
    jobs[0].grace = seconds(grace);
    jobs[0].checkpoint_on_notice = on_notice;
    jobs[1].priority = 10;
    ReplayOptions options = with(Backfill::reserved);
    options.policy.preemption = true;
    result = replay(servers(1), jobs, options);
  }
};

TEST(Replay, PreemptedJobResumesFromItsCheckpoint) {
  // Stopped at 28 s, restarted at 48 s with the work of 20 s: 48 + 5 + 80.
  const ReplayResult result = Preempted(3, false).result;
  EXPECT_EQ(starts_of(result), (Seconds{0, 28}));
  EXPECT_EQ(result.preemptions, 1U);
  EXPECT_EQ(result.jobs[0].end, Moment() + seconds(133));
  EXPECT_EQ(result.jobs[0].waited, seconds(20));
  EXPECT_DOUBLE_EQ(result.jobs[0].lost_gpu_seconds, 8.0 * (8 + 5));
  EXPECT_DOUBLE_EQ(result.jobs[0].gpu_seconds, 8.0 * (28 + 85));
}

TEST(Replay, VictimWithoutGraceStopsImmediately) {
  const ReplayResult result = Preempted(0, false).result;
  EXPECT_EQ(starts_of(result), (Seconds{0, 25}));
  EXPECT_EQ(result.jobs[0].end, Moment() + seconds(45 + 5 + 80));
}

TEST(Replay, CheckpointOnNoticeSavesTheWork) {
  const ReplayResult result = Preempted(3, true).result;
  EXPECT_EQ(result.jobs[0].end, Moment() + seconds(48 + 5 + 72));
  EXPECT_DOUBLE_EQ(result.jobs[0].lost_gpu_seconds, 8.0 * 5);
}

// Four servers, an elastic job of 2 to 4. From 40 s to 60 s another uses two of them: 40 + 20 / 2 + 50 at full size.
TEST(Replay, ElasticJobSlowsDownAndSpeedsUp) {
  std::vector<Job> jobs = {whole("elastic", 0, 4, 100, 200), whole("other", 40, 2, 20)};
  jobs[0].min_tasks = 2;
  jobs[1].priority = 10;
  ReplayOptions options = with(Backfill::reserved);
  options.policy.preemption = true;
  options.policy.elastic = true;
  const ReplayResult result = replay(servers(4), jobs, options);
  EXPECT_EQ(starts_of(result), (Seconds{0, 40}));
  EXPECT_EQ(result.resizes, 2U);
  EXPECT_EQ(result.jobs[0].end, Moment() + seconds(110));
  EXPECT_DOUBLE_EQ(result.jobs[0].gpu_seconds, 8.0 * (4 * 40 + 2 * 20 + 4 * 50));
  EXPECT_DOUBLE_EQ(result.jobs[0].lost_gpu_seconds, 0);
}

TEST(Replay, PaceStretchesARun) {
  std::vector<Job> jobs = {whole("a", 0, 2, 100, 1000)};
  ReplayOptions options = with(Backfill::none);
  options.pace = [](const Job&, const Machine&, const Placement& placement) {
    return placement.slots.size() > 1 ? 1.25 : 1.0;
  };
  EXPECT_EQ(replay(servers(2), jobs, options).jobs[0].end, Moment() + seconds(125));
}

std::vector<Job> random_jobs(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<Job> jobs;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    at += random.between(0, 60);
    const auto servers = static_cast<std::int32_t>(random.between(1, 4));
    Job job = whole("j", at, servers, random.between(0, 900), 1000);
    if (random.chance(0.7)) {
      job.tasks = 1;
      job.task.gpus = static_cast<std::int32_t>(random.between(1, 8));
    }
    job.tenant = random.chance(0.5) ? "x" : "y";
    job.priority = static_cast<std::int32_t>(random.between(0, 1));
    job.checkpoint_interval = seconds(random.between(0, 100));
    job.grace = seconds(random.between(0, 20));
    jobs.push_back(job);
  }
  return jobs;
}

TEST(Replay, HeldGpusAddUpToTheIntegral) {
  const std::vector<Job> jobs = random_jobs(400, 7);
  for (const Backfill backfill : {Backfill::none, Backfill::greedy, Backfill::reserved}) {
    ReplayOptions options = with(backfill, 3);
    options.policy.preemption = true;
    options.failures = {{static_cast<NodeId>(2), Moment() + seconds(500), Moment() + seconds(2500)}};
    const ReplayResult result = replay(servers(8), jobs, options);
    double held = 0;
    for (const JobOutcome& job : result.jobs) held += job.gpu_seconds;
    EXPECT_NEAR(held, result.sums.used_gpu_seconds, 1e-6 * held) << to_text(backfill);
    double sampled = 0;
    for (const Sample& sample : result.samples) sampled += static_cast<double>(sample.used_gpu_milli) * 0.6;
    EXPECT_NEAR(sampled, held, 64.0 * 600) << "but for the last, unfinished sample";
    EXPECT_EQ(result.never_started, 0U);
    // Work is conserved: what a job held beyond its own work was lost.
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const double own = seconds_of(jobs[i].run_time) * static_cast<double>(jobs[i].gpu_milli()) / 1000.0;
      EXPECT_NEAR(result.jobs[i].gpu_seconds - result.jobs[i].lost_gpu_seconds, own, 1e-6 + own * 1e-9) << i;
      EXPECT_EQ(result.jobs[i].end - result.jobs[i].submitted >= jobs[i].run_time, true);
    }
  }
}

TEST(Replay, TheSameTraceGivesTheSameHash) {
  const std::vector<Job> jobs = random_jobs(300, 11);
  const ReplayResult first = replay(servers(6), jobs, with(Backfill::reserved, 4));
  const ReplayResult second = replay(servers(6), jobs, with(Backfill::reserved, 4));
  EXPECT_EQ(first.hash, second.hash);
  EXPECT_NE(first.hash, replay(servers(6), jobs, with(Backfill::none)).hash);
  // Replaying in steps yields the same result.
  Replay pieces(servers(6), jobs, with(Backfill::reserved, 4));
  for (std::int64_t at = 997; pieces.run_until(Moment() + seconds(at)); at += 997) {
    EXPECT_EQ(pieces.now(), Moment() + seconds(at));
    EXPECT_EQ(pieces.scheduler().broken_invariant(), "");
  }
  EXPECT_EQ(pieces.result().hash, first.hash);
}

TEST(Replay, PublishedTraceInPart) {
  WEFT_NEEDS_DATA("traces/philly");
  Sources sources;
  Diagnostics diagnostics;
  Result<std::string> text = read_text_file(test_data_dir() + "/traces/philly/philly_jobs_82k.csv.gz");
  ASSERT_TRUE(text.ok()) << text.error().text();
  TraceOptions read;
  read.limit_factor = 1.5;
  const FileId file = sources.add("philly", std::move(text).value());
  std::optional<Workload> workload = read_workload(file, sources, read, diagnostics);
  ASSERT_TRUE(workload.has_value());
  workload->jobs.resize(1500);
  const ReplayResult result = replay(servers(80), workload->jobs, with(Backfill::reserved, 4));
  EXPECT_EQ(result.never_started, 0U);
  double held = 0;
  for (const JobOutcome& job : result.jobs) held += job.gpu_seconds;
  EXPECT_NEAR(held, result.sums.used_gpu_seconds, 1e-6 * held);
}

}  // namespace
}  // namespace weft::sched
