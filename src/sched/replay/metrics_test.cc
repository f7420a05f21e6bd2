#include "sched/replay/metrics.h"

#include <gtest/gtest.h>

#include "sched/machine/plain_machine.h"

namespace weft::sched {
namespace {

Job job_of(std::int32_t tasks, std::int32_t gpus, std::int64_t run, std::string tenant = "t") {
  Job job;
  job.tenant = std::move(tenant);
  job.tasks = tasks;
  job.task.gpus = gpus;
  job.run_time = seconds(run);
  job.limit = seconds(run);
  return job;
}

TEST(ReplayMetrics, QuantilesAreNearestRanks) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(quantile(values, 0.5), 5);
  EXPECT_EQ(quantile(values, 0.9), 9);
  EXPECT_EQ(quantile(values, 0.99), 10);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST(ReplayMetrics, ClassesOfSize) {
  EXPECT_EQ(size_class(job_of(1, 0, 1)), 0U);
  EXPECT_EQ(size_class(job_of(1, 1, 1)), 1U);
  EXPECT_EQ(size_class(job_of(1, 8, 1)), 2U);
  EXPECT_EQ(size_class(job_of(2, 8, 1)), 3U);
  EXPECT_EQ(size_class(job_of(8, 8, 1)), 3U);
  EXPECT_EQ(size_class(job_of(9, 8, 1)), 4U);
}

// One server of 8 GPUs. A holds it for 100 s; B (4 GPUs, 50 s) and C (1 GPU, 20 s) wait for it.
// Utilization: (8*100 + 4*50 + 1*20) / (8 * 150). Waits: 0, 100, 100. Slowdowns: 1, 150/50, 120/20.
TEST(ReplayMetrics, MetricsOfThreeJobs) {
  PlainMachine plain;
  const std::vector<Job> jobs = {job_of(1, 8, 100, "x"), job_of(1, 4, 50, "y"), job_of(1, 1, 20, "y")};
  ReplayOptions options;
  options.policy.preemption = false;
  const ReplayResult result = replay(std::make_shared<const Machine>(plain_machine(plain)), jobs, options);
  const ReplayMetrics metrics = measure("p", jobs, result);
  EXPECT_DOUBLE_EQ(metrics.utilization, 1020.0 / 1200.0);
  EXPECT_DOUBLE_EQ(metrics.makespan, 150);
  EXPECT_DOUBLE_EQ(metrics.all.mean, 200.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.all.median, 100);
  EXPECT_DOUBLE_EQ(metrics.all.slowdown, (1 + 3 + 6) / 3.0);
  EXPECT_DOUBLE_EQ(metrics.slowdown_median, 3);
  ASSERT_EQ(metrics.by_size.size(), 2U);
  EXPECT_EQ(metrics.by_size[0].name, "1 GPU");
  EXPECT_DOUBLE_EQ(metrics.by_size[1].mean, 50);
  ASSERT_EQ(metrics.by_tenant.size(), 2U);
  EXPECT_EQ(metrics.by_tenant[0].name, "x");
  EXPECT_DOUBLE_EQ(metrics.by_tenant[1].gpu_hours, 220.0 / 3600);
  EXPECT_DOUBLE_EQ(metrics.waiting_share, 100.0 / 150);
  EXPECT_DOUBLE_EQ(metrics.enough_share, 0);  // the server was full
  EXPECT_EQ(metrics.started, 3U);
}

// Two servers with 4 GPUs used on each by jobs that spread; a job of 8 waits although 8 are free in total.
TEST(ReplayMetrics, EnoughInTotalButFragmented) {
  PlainMachine plain;
  plain.nodes = 2;
  std::vector<Job> jobs = {job_of(1, 4, 100), job_of(1, 4, 100), job_of(1, 8, 10)};
  ReplayOptions options;
  options.policy.placement.nodes = NodeChoice::spread;
  options.policy.placement.topology = false;
  options.policy.preemption = false;
  options.sample_every = seconds(10);
  const ReplayMetrics metrics =
      measure("p", jobs, replay(std::make_shared<const Machine>(plain_machine(plain)), jobs, options));
  EXPECT_DOUBLE_EQ(metrics.all.longest, 100);
  EXPECT_DOUBLE_EQ(metrics.enough_share, 1);
  EXPECT_DOUBLE_EQ(metrics.fragmentation, 1);  // it could use none of the idle GPUs
}

// Both tenants request all GPUs; the first has them: Jain's index of (8, 0) is 64 / (2 * 64).
TEST(ReplayMetrics, FairnessIfOneTenantHasAll) {
  PlainMachine plain;
  std::vector<Job> jobs = {job_of(1, 8, 100, "x"), job_of(1, 8, 100, "x"), job_of(1, 8, 100, "y")};
  ReplayOptions options;
  options.policy.preemption = false;
  options.policy.order = Order::fifo;
  options.sample_every = seconds(10);
  const ReplayResult result = replay(std::make_shared<const Machine>(plain_machine(plain)), jobs, options);
  EXPECT_DOUBLE_EQ(measure("p", jobs, result).fairness, 0.5);
}

}  // namespace
}  // namespace weft::sched
