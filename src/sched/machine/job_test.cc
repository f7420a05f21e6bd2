#include "sched/machine/job.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::sched {
namespace {

Job whole(std::int32_t tasks, std::int32_t gpus) {
  Job job;
  job.tasks = tasks;
  job.task.gpus = gpus;
  return job;
}

template <class Change>
std::string problem_with(Change change, std::int32_t tasks = 4, std::int32_t gpus = 8) {
  Job job = whole(tasks, gpus);
  change(job);
  return problem_of(job);
}

TEST(JobProblem, OrdinaryJobsAreValid) {
  EXPECT_EQ(problem_of(whole(1, 1)), "");
  EXPECT_EQ(problem_of(whole(kMaxTasks, kMaxGpus)), "");
  EXPECT_EQ(problem_with([](Job& job) { job.task.gpu_milli = 250; }, 4, 1), "");
  EXPECT_EQ(problem_with([](Job& job) { job.task.cpu = 1; }, 1, 0), "");
  EXPECT_EQ(problem_with([](Job& job) { job.min_tasks = 2, job.segment = 2; }), "");
  EXPECT_EQ(problem_with([](Job& job) { job.inference = true, job.preemptible = false; }), "");
  EXPECT_EQ(problem_with([](Job& job) { job.required = Level::node; }, 2, 8), "");
  EXPECT_EQ(problem_with([](Job& job) { job.task.mig = {1, 0x7F}; }, 1, 7), "");
}

TEST(JobProblem, CountsOutOfRange) {
  EXPECT_EQ(problem_of(whole(0, 1)), "a job has 0 tasks; expected 1 to 1000000");
  EXPECT_EQ(problem_of(whole(kMaxTasks + 1, 1)), "a job has 1000001 tasks; expected 1 to 1000000");
  EXPECT_EQ(problem_of(whole(1, -1)), "a task requests -1 GPUs");
  EXPECT_EQ(problem_of(whole(1, 17)), "a task requests 17 GPUs; a server has at most 16");
  EXPECT_EQ(problem_of(whole(1, 0)), "a task requests no GPU, no CPU and no memory");
  EXPECT_EQ(problem_with([](Job& job) { job.task.cpu = -1; }), "a task requests a negative amount");
  EXPECT_EQ(problem_with([](Job& job) { job.min_tasks = 5; }), "the job's minimum is 5 tasks but it has 4");
}

TEST(JobProblem, GpuFractions) {
  EXPECT_EQ(problem_with([](Job& job) { job.task.gpu_milli = 500; }, 1, 2),
            "a fraction of a GPU can only be requested with one GPU");
  EXPECT_EQ(problem_with([](Job& job) { job.task.gpu_milli = 0; }, 1, 1),
            "a task requests 0 thousandths of a GPU; expected 1 to 1000");
  EXPECT_EQ(problem_with([](Job& job) { job.task.gpu_milli = 1001; }, 1, 1),
            "a task requests 1001 thousandths of a GPU; expected 1 to 1000");
  EXPECT_EQ(problem_with(
                [](Job& job) {
                  job.task.mig = {1, 1}, job.task.gpu_milli = 500;
                },
                1, 1),
            "a MIG instance cannot be time-sliced");
  EXPECT_EQ(problem_with([](Job& job) { job.task.mig = {9, 1}; }, 1, 1), "a MIG instance of 9 slices, but a GPU has 8");
  EXPECT_EQ(problem_with(
                [](Job& job) {
                  job.task.mig = {4, 0x20};
                },
                1, 1),
            "a MIG instance has no valid start slice on the GPU");
  EXPECT_EQ(problem_with(
                [](Job& job) {
                  job.task.mig = {4, 0};
                },
                1, 1),
            "a MIG instance has no valid start slice on the GPU");
  EXPECT_EQ(problem_with(
                [](Job& job) {
                  job.task.mig = {0, 1};
                },
                1, 1),
            "a MIG instance has start slices but no size in slices");
  EXPECT_EQ(problem_with(
                [](Job& job) {
                  job.task.mig = {8, 1};
                },
                1, 17),
            "a task requests 17 MIG instances; a server has at most 16");
}

TEST(JobProblem, TopologyConstraints) {
  EXPECT_EQ(problem_with([](Job& job) { job.segment = 3; }),
            "segments of 3 tasks do not divide the 4 tasks of the job");
  EXPECT_EQ(problem_with([](Job& job) { job.segment = 2, job.min_tasks = 3; }),
            "segments of 2 tasks do not divide the 3 tasks of the job");
  EXPECT_EQ(problem_with([](Job& job) { job.segment = 5; }),
            "segments of 5 tasks are larger than the job, which has 4");
  EXPECT_EQ(problem_with([](Job& job) { job.required = Level::node; }, 3, 8),
            "the job must fit on one server but has 3 tasks of 8 GPUs; a server has at most 16");
  EXPECT_EQ(problem_with([](Job& job) { job.segment = 4, job.segment_level = Level::node; }, 4, 8),
            "a segment must fit on one server but has 4 tasks of 8 GPUs; a server has at most 16");
}

TEST(JobProblem, TimesAndClasses) {
  EXPECT_EQ(problem_with([](Job& job) { job.inference = true; }), "a service (inference) cannot be preemptible");
  EXPECT_EQ(problem_with([](Job& job) { job.submitted = Moment(-1); }),
            "the job was submitted before the trace begins");
  EXPECT_EQ(problem_with([](Job& job) { job.grace = Duration(-1); }), "grace is negative");
  EXPECT_EQ(problem_with([](Job& job) { job.run_time = Duration(-1); }), "run_time is negative");
  EXPECT_EQ(problem_with([](Job& job) { job.limit = Duration(0); }), "limit is zero: the job would end immediately");
}

}  // namespace
}  // namespace weft::sched
