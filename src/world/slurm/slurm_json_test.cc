#include "world/slurm/slurm_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::world {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string jobs(const std::string& records, const std::string& errors = "") {
  return R"({"meta": {"plugin": {"type": "openapi/v0.0.38"}}, "errors": [)" + errors + R"(], "jobs": [)" + records +
         "]}";
}

constexpr const char* kJob = R"({"job_id": 7, "submit_time": 1794917634, "job_state": "RUNNING", "priority": 4294901758,
  "comment": "weft:lab:1.1:5", "state_reason": "None", "nodes": "n[0,2]", "required_nodes": "n[0,2]", "node_count": 2,
  "exit_code": 36608, "restart_cnt": 1, "user_id": 65534, "flags": ["JOB_CPUS_SET"], "array_task_id": null,
  "gres_detail": [], "nested": {"job_id": 9}})";

TEST(SlurmJson, ReadsJobs) {
  const auto read = parse_slurm_jobs(jobs(kJob), "weft:lab:");
  ASSERT_TRUE(read.ok()) << read.error().text();
  ASSERT_EQ(read->size(), 1U);
  const SlurmJob& job = read->front();
  EXPECT_EQ(job.id, 7U);
  EXPECT_EQ(job.submitted, 1794917634);
  EXPECT_EQ(job.state, SlurmState::running);
  EXPECT_FALSE(job.held);
  EXPECT_EQ(job.nodes, "n[0,2]");
  EXPECT_EQ(job.node_count, 2U);
  EXPECT_EQ(job.exit_status, 36608);
  EXPECT_EQ(job.restarts, 1U);
  EXPECT_EQ(job.user, 65534U);
}

TEST(SlurmJson, JobsOfOthersAreSkipped) {
  EXPECT_EQ(parse_slurm_jobs(jobs(kJob), "weft:other:")->size(), 0U);
  EXPECT_EQ(parse_slurm_jobs(jobs(""), "weft:")->size(), 0U);
}

TEST(SlurmJson, HeldUnsetAndUnknownValues) {
  const auto read = parse_slurm_jobs(
      jobs(R"({"job_id": 1, "submit_time": 5, "job_state": "PENDING", "priority": 0, "exit_code": 4294967294,
               "node_count": -3, "restart_cnt": "two", "nodes": null},
              {"job_id": 2, "submit_time": 5, "job_state": "SLEEPING", "priority": 4294967294})"),
      "");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_TRUE(read->at(0).held);
  EXPECT_EQ(read->at(0).exit_status, 0);
  EXPECT_EQ(read->at(0).node_count, 0U);
  EXPECT_EQ(read->at(1).state, SlurmState::unknown);
  EXPECT_FALSE(is_ended(read->at(1).state));
  EXPECT_FALSE(read->at(1).held);
}

// A failed query of Slurm 22.05 answers with status 0 (or 200), errors and an empty list.
TEST(SlurmJson, ErrorsAreNotAnEmptyList) {
  const auto read = parse_slurm_jobs(
      jobs("", R"({"description": "Failed while looking for jobs", "error": "Unspecified error", "error_number": -1})"),
      "");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), HasSubstr("Failed while looking for jobs: Unspecified error"));
  EXPECT_FALSE(parse_slurm_jobs(jobs("", "{}"), "").ok());
}

TEST(SlurmJson, DamagedAnswersAreErrors) {
  const std::string whole = jobs(kJob);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_slurm_jobs(whole.substr(0, size), "").ok()) << size;
  for (const char* text :
       {"[]", "7", "null", "{}", R"({"errors": []})", R"({"jobs": {}})", R"({"jobs": 7})", R"({"nodes": []})",
        R"({"jobs": [{"job_id": 1}]})", R"({"jobs": [{"job_id": "1", "submit_time": 5, "job_state": "RUNNING"}]})",
        R"({"jobs": [{"job_id": 1, "submit_time": null, "job_state": "RUNNING"}]})"}) {
    EXPECT_FALSE(parse_slurm_jobs(text, "").ok()) << text;
  }
  EXPECT_FALSE(parse_slurm_jobs(R"({"jobs": [)" + std::string(100'000, '['), "").ok());
  EXPECT_FALSE(parse_slurm_jobs(whole + std::string(1, '\0') + whole, "").ok());
}

TEST(SlurmJson, ReadsNodes) {
  const auto read = parse_slurm_nodes(R"({"errors": [], "nodes": [
    {"name": "n0", "address": "10.0.0.1", "state": "mixed", "state_flags": ["DRAIN", "COMPLETING"],
     "reason": "broken fan", "reason_set_by_user": "root", "boot_time": 1794845702, "slurmd_start_time": 1794917417,
     "gres": "gpu:h100:8(S:0-1),nic:2", "partitions": ["main", "high"]},
    {"name": "n1", "state": "idle", "reason_set_by_user": null, "state_flags": []}]})");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const SlurmNode& node = read->front();
  EXPECT_EQ(node.address, "10.0.0.1");
  EXPECT_TRUE(node.is_drained());
  EXPECT_TRUE(node.responds());
  EXPECT_EQ(node.reason, "broken fan");
  EXPECT_EQ(node.reason_user, "root");
  EXPECT_EQ(node.boot_time, 1794845702);
  EXPECT_EQ(node.slurmd_start, 1794917417);
  EXPECT_EQ(node.gpus, 8U);
  EXPECT_THAT(node.partitions, ElementsAre("main", "high"));
  EXPECT_FALSE(parse_slurm_nodes(R"({"nodes": [{"name": "n0"}]})").ok());
  EXPECT_FALSE(parse_slurm_nodes(R"({"nodes": [{"state": "idle"}]})").ok());
}

TEST(SlurmJson, NodesThatDoNotRespond) {
  const auto responds = [](const std::string& state, std::vector<std::string> flags) {
    SlurmNode node;
    node.state = state;
    node.flags = std::move(flags);
    return node.responds();
  };
  EXPECT_TRUE(responds("idle", {"DRAIN"}));
  EXPECT_FALSE(responds("idle", {"NOT_RESPONDING"}));
  EXPECT_FALSE(responds("down", {}));
  EXPECT_FALSE(responds("unknown", {}));
  EXPECT_FALSE(responds("idle", {"POWERED_DOWN"}));
}

TEST(SlurmJson, CountsGpus) {
  EXPECT_EQ(count_gpus(""), 0U);
  EXPECT_EQ(count_gpus("gpu"), 1U);
  EXPECT_EQ(count_gpus("gpu:8"), 8U);
  EXPECT_EQ(count_gpus("gpu:h100:4(S:0,1),gpu:a100:2,nic:7"), 6U);
  EXPECT_EQ(count_gpus("gpu:h100:99999999999999"), 1U);
  EXPECT_EQ(count_gpus("((((,gpu:"), 0U);
}

}  // namespace
}  // namespace weft::world
