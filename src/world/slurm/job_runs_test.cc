#include "world/slurm/job_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::world {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As squeue 22.05 prints it, shortened.
constexpr const char* kList = R"json({"errors": [], "jobs": [
 {"job_id": 7, "job_state": "RUNNING", "submit_time": 1794957000, "start_time": 1794957263, "end_time": 1794960863,
  "time_limit": 60, "user_id": 65534, "group_id": 100, "comment": "weft:namespace", "nodes": "train[001-002]",
  "cpus": 3, "gres_detail": ["gpu:h100:8(IDX:0-7)", "gpu:h100:2(IDX:0-1)"],
  "tres_alloc_str": "cpu=3,mem=4000M,node=2,billing=3"},
 {"job_id": 8, "job_state": "PENDING", "submit_time": 1794957001, "start_time": 0, "end_time": 0,
  "time_limit": 4294967295, "user_id": 0, "group_id": 0, "comment": "", "nodes": "", "cpus": 1, "gres_detail": [],
  "tres_alloc_str": ""}]})json";

TEST(JobRuns, NodesGpusAndOwner) {
  const Result<std::vector<JobRun>> runs = parse_job_runs(kList);
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  ASSERT_EQ(runs->size(), 2U);
  const JobRun& run = runs->front();
  EXPECT_EQ(run.id, 7U);
  EXPECT_EQ(run.state, SlurmState::running);
  EXPECT_EQ(run.started, 1'794'957'263);
  EXPECT_EQ(run.ends, 1'794'960'863);
  EXPECT_EQ(run.uid, 65'534U);
  EXPECT_EQ(run.gid, 100U);
  EXPECT_THAT(run.nodes, ElementsAre("train001", "train002"));
  EXPECT_THAT(run.gpus, ElementsAre(8U, 2U));
  EXPECT_EQ(run.cpus, 3U);
  EXPECT_EQ(run.memory_mib, 4'000);
  EXPECT_EQ(runs->back().ends, 0) << "unlimited";
}

TEST(JobRuns, WhatCannotBeReadIsAnError) {
  EXPECT_FALSE(parse_job_runs("").ok());
  EXPECT_FALSE(parse_job_runs("{}").ok());
  EXPECT_FALSE(parse_job_runs(std::string(kList).substr(0, 300)).ok());
  EXPECT_FALSE(parse_job_runs(R"({"errors": [{"error": "no"}], "jobs": []})").ok());
  const Result<std::vector<JobRun>> owner = parse_job_runs(
      R"({"errors": [], "jobs": [{"job_id": 7, "job_state": "RUNNING", "submit_time": 1, "group_id": 1}]})");
  ASSERT_FALSE(owner.ok()) << "a file without a known owner would be root's";
  EXPECT_THAT(owner.error().text(), HasSubstr("job 7 has no user_id"));
}

TEST(JobRuns, MemoryOfTres) {
  EXPECT_EQ(memory_of_tres("cpu=1,mem=4000M,node=1"), 4'000);
  EXPECT_EQ(memory_of_tres("mem=1.50T"), 1'572'864);
  EXPECT_EQ(memory_of_tres("mem=16G"), 16'384);
  EXPECT_EQ(memory_of_tres("mem=2048K"), 2);
  EXPECT_EQ(memory_of_tres("mem=512"), 512);
  for (const char* text : {"", "cpu=1", "mem=", "mem=G", "mem=xG", "mem=4Q", "mem=-1G", "mem=1e300T", "mem=nan"})
    EXPECT_EQ(memory_of_tres(text), 0) << text;
}

TEST(JobRuns, EndsInTheAccounting) {
  constexpr const char* kText =
      "7|1794957000|PREEMPTED\n7|1794957263|CANCELLED by 1000\n8|1794957300|RUNNING\n9|Unknown|PENDING\n";
  EXPECT_EQ(find_accounted_end(kText, 7, 1'794'957'263), true);
  EXPECT_EQ(find_accounted_end(kText, 7, 1'794'957'264), std::nullopt) << "another run";
  EXPECT_EQ(find_accounted_end(kText, 8, 1'794'957'300), false);
  EXPECT_EQ(find_accounted_end(kText, 9, 0), std::nullopt);
  EXPECT_EQ(find_accounted_end("", 7, 1), std::nullopt);
}

}  // namespace
}  // namespace weft::world
