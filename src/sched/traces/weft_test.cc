#include "sched/traces/fixture.h"

namespace weft::sched {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// Every column once, in arbitrary order.
const std::string kFullCsv =
    "tenant,name,user,priority,submit,tasks,min_tasks,gpus,cpus,memory,functions,scratch,models,pools,required,"
    "preferred,preference_wait,segment,segment_level,run_time,limit,preemptible,inference,grace,checkpoint_interval,"
    "restart_cost,job_file\n"
    "research,\"train, big\",ada,-5,90.5,8,4,8,7.5,64GiB,2,100GB,h100-sxm|h200-sxm,gold,pod,leaf,10m,4,rack,2h,10800,"
    "yes,no,30,30m,2.5,jobs/llama.yaml\n";
const std::string kFullJson =
    R"({"tenant": "research", "name": "train, big", "user": "ada", "priority": -5, "submit": 90.5, "tasks": 8, )"
    R"("min_tasks": 4, "gpus": 8, "cpus": 7.5, "memory": "64GiB", "functions": 2, "scratch": "100GB", )"
    R"("models": ["h100-sxm", "h200-sxm"], "pools": "gold", "required": "pod", "preferred": "leaf", )"
    R"("preference_wait": "10m", "segment": 4, "segment_level": "rack", "run_time": "2h", "limit": 10800, )"
    R"("preemptible": true, "inference": false, "grace": 30, "checkpoint_interval": "30m", "restart_cost": 2.5, )"
    R"("job_file": "jobs/llama.yaml"})";

class WeftForms : public testing::TestWithParam<std::string> {};

TEST_P(WeftForms, EveryColumnIsRead) {
  const TraceRead read = read_trace(GetParam());
  ASSERT_TRUE(read.workload) << read.said();
  EXPECT_EQ(read.workload->format, TraceFormat::weft);
  ASSERT_EQ(read.workload->jobs.size(), 1U);
  const Job& job = read.workload->jobs[0];
  EXPECT_EQ(job.name, "train, big");
  EXPECT_EQ(job.tenant, "research");
  EXPECT_EQ(job.user, "ada");
  EXPECT_EQ(job.priority, -5);
  EXPECT_EQ(job.submitted, Moment(90 * kSecond + kSecond / 2));
  EXPECT_EQ(job.tasks, 8);
  EXPECT_EQ(job.min_tasks, 4);
  EXPECT_EQ(job.task.gpus, 8);
  EXPECT_EQ(job.task.gpu_milli, kWholeGpu);
  EXPECT_EQ(job.task.cpu, 7500);
  EXPECT_EQ(job.task.memory_mib, 65'536);
  EXPECT_EQ(job.task.functions, 2);
  EXPECT_EQ(job.task.scratch_gib, 94);  // 10^11 / 2^30 = 93.1..., rounded up
  EXPECT_EQ(job.task.models, 0b11U);
  EXPECT_EQ(job.task.pools, 0b1U);
  EXPECT_EQ(job.required, Level::pod);
  EXPECT_EQ(job.preferred, Level::leaf);
  EXPECT_EQ(job.preference_wait, seconds(600));
  EXPECT_EQ(job.segment, 4);
  EXPECT_EQ(job.segment_level, Level::rack);
  EXPECT_EQ(job.run_time, seconds(7200));
  EXPECT_EQ(job.limit, seconds(10'800));
  EXPECT_TRUE(job.preemptible);
  EXPECT_FALSE(job.inference);
  EXPECT_EQ(job.grace, seconds(30));
  EXPECT_EQ(job.checkpoint_interval, seconds(1800));
  EXPECT_EQ(job.restart_cost, Duration(2 * kSecond + kSecond / 2));
  EXPECT_EQ(job.job_file, "jobs/llama.yaml");
  EXPECT_THAT(read.workload->models, ElementsAre("h100-sxm", "h200-sxm"));
  EXPECT_THAT(read.workload->pools, ElementsAre("gold"));
}

INSTANTIATE_TEST_SUITE_P(Both, WeftForms, testing::Values(kFullCsv, kFullJson));

TEST(WeftTrace, MinimalTableIsAccepted) {
  const TraceRead read = read_trace("gpus,run_time\n8,1h\n,\n4,\n");
  // A row of commas requests nothing.
  EXPECT_THAT(read.errors(), ElementsAre("3:1 a task requests no GPU, no CPU and no memory"));
  const TraceRead good = read_trace("gpus,run_time\n8,1h\n\n4,\n");
  ASSERT_TRUE(good.workload);
  EXPECT_EQ(good.workload->jobs[1].name, "job-2");
  EXPECT_EQ(good.workload->jobs[1].run_time, kUnlimited);
}

TEST(WeftTrace, ServicesAndGpuFractions) {
  const TraceRead read = read_trace(
      "name,inference,gpu_milli,gpus,mig,mig_slices,mig_starts,models\n"
      "serve,yes,250,,,,,\n"
      "named,,,,1g.10gb,,,\n"
      "three,,,3,2g.20gb,,,\n"
      "own,,,,,4,0|4,\n"
      "which,,,,1g.35gb,,,h200-sxm\n");
  ASSERT_TRUE(read.workload) << read.said();
  const std::vector<Job>& jobs = read.workload->jobs;
  EXPECT_TRUE(jobs[0].inference);
  EXPECT_FALSE(jobs[0].preemptible);
  EXPECT_EQ(jobs[0].task.gpus, 1);
  EXPECT_EQ(jobs[0].task.gpu_milli, 250);
  // Slices and starts as in NVIDIA's MIG user guide.
  EXPECT_EQ(jobs[1].task.mig, (MigShape{1, 0b0111'1111}));
  EXPECT_EQ(jobs[1].task.gpus, 1);
  EXPECT_EQ(jobs[2].task.mig, (MigShape{2, 0b0001'0101}));
  EXPECT_EQ(jobs[2].task.gpus, 3);
  EXPECT_EQ(jobs[3].task.mig, (MigShape{4, 0b0001'0001}));
  EXPECT_EQ(jobs[4].task.mig.slices, 2);
}

TEST(WeftTrace, InvalidMigProfilesAreErrors) {
  const TraceRead read = read_trace("mig,mig_slices,mig_starts\n1g.11gb,,\n1g.35gb,,\n1g.10gb,1,0\n,2,9\n,3,7\n");
  EXPECT_THAT(read.errors(),
              ElementsAre("2:1 no GPU has the MIG profile `1g.11gb`",
                          HasSubstr("3:1 the MIG profile `1g.35gb` has 2 memory slices on h200-sxm and 1 on"),
                          "4:1 a MIG profile is given both by name and by slices",
                          "5:4 `mig_starts` is not a list of memory slices from 0 to 7",
                          "6:1 a MIG instance has no valid start slice on the GPU"));
  EXPECT_EQ(read.hints()[0], "did you mean `1g.10gb`?");
  EXPECT_EQ(read.hints()[1], "name the GPU in `models`");
}

TEST(WeftTrace, CalendarTimes) {
  const TraceRead read = read_trace("gpus,submit\n1,2024-05-01T10:00:00+02:00\n1,2024-05-01 07:59:30.5\n");
  ASSERT_TRUE(read.workload) << read.said();
  EXPECT_EQ(read.workload->jobs[0].submitted, Moment(kSecond / 2));
  EXPECT_EQ(read.workload->jobs[1].submitted, Moment(30 * kSecond));
  EXPECT_EQ(read.workload->origin, 1'714'550'370);
  EXPECT_THAT(read_trace("gpus,submit\n1,5\n1,2024-05-01 10:00\n").errors(),
              ElementsAre("3:3 this is a date, but the first row has seconds"));
  EXPECT_THAT(read_trace("gpus,submit\n1,2024-05-01 10:00\n1,\n").errors(),
              ElementsAre("3:1 this is not a date, but the first row has one"));
  EXPECT_THAT(read_trace("gpus,submit\n1,2024-05-32\n").errors(),
              ElementsAre("2:3 `submit` is not a time: `2024-05-32`"));
}

TEST(WeftTrace, UnknownColumnsAreErrorsWithASuggestion) {
  const TraceRead csv = read_trace("name,gpsu,color\nx,8,red\n");
  EXPECT_THAT(csv.errors(), ElementsAre("1:6 unknown column `gpsu`", "1:11 unknown column `color`"));
  EXPECT_EQ(csv.hints()[0], "did you mean `gpus`?");
  const TraceRead json = read_trace("\n{\"name\": \"x\", \"gpsu\": 8}\n");
  EXPECT_THAT(json.errors(), ElementsAre("2:15 unknown key `gpsu`"));
  EXPECT_EQ(json.hints()[0], "did you mean `gpus`?");
  EXPECT_THAT(read_trace("name,gpus,gpus\nx,8,8\n").errors(), ElementsAre("1:11 duplicate column `gpus`"));
}

TEST(WeftTrace, ErrorsHaveTheirLocation) {
  const TraceRead read = read_trace(
      "gpus,cpus,memory,run_time,required,preemptible,inference\n"
      "8,x,64GiB,1h,pod,yes,no\n"
      "8,1,64,1h,pod,yes,no\n"
      "8,1,64XB,1h,pod,yes,no\n"
      "8,1,64GiB,1fortnight,pod,yes,no\n"
      "8,1,64GiB,-5,pod,yes,no\n"
      "8,1,64GiB,1h,rak,yes,no\n"
      "8,1,64GiB,1h,pod,maybe,no\n"
      "8,1,64GiB,1h,pod,yes,yes\n"
      "8.5,1,64GiB,1h,pod,yes,no\n");
  EXPECT_THAT(
      read.errors(),
      ElementsAre("2:3 `cpus` is not a number: `x`", "3:5 `memory` has no unit", HasSubstr("4:5 "), HasSubstr("5:11 "),
                  "6:11 `run_time` is -5 s; expected 0 to 3155760000 s (100 years)",
                  "7:14 `required` is not a level of the network", "8:18 `preemptible` must be true or false",
                  "9:1 a service (inference) cannot be preemptible", "10:1 `gpus` is not a whole number: `8.5`"));
  EXPECT_EQ(read.hints()[5], "did you mean `rack`?");
  EXPECT_THAT(read_trace("name,gpus\n\"a\nb\",1\n").errors(),
              ElementsAre("2:2 a control character in a name of the job"));
}

TEST(WeftTrace, ErrorsInJsonLines) {
  const TraceRead read = read_trace(
      "{\"gpus\": 8}\n"
      "{\"gpus\": 8,}\n"
      "[8]\n"
      "{\"gpus\": {\"a\": 1}}\n"
      "  {\"gpus\": 1, \"gpus\": 2}\n"
      "{\"gpus\": \"x\"}\n"
      "{\"gpus\": 8} {\"gpus\": 8}\n"
      "{\"gpus\": 8, \"name\": null, \"models\": [[1]]}\n"
      "{\"gpus\": 8\n");
  EXPECT_THAT(read.errors(),
              ElementsAre(HasSubstr("2:12 "), "3:1 the line is not a JSON object", "4:10 `gpus` is a mapping",
                          "5:15 duplicate key `gpus`", "6:10 `gpus` is not a whole number: `x`", HasSubstr("7:13 "),
                          "8:37 `models` is a list", HasSubstr("9:")));
}

}  // namespace
}  // namespace weft::sched
