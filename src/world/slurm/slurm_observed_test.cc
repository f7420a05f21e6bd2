// Jobs and nodes of Slurm for watch mode. The lists are those of Slurm 22.05.8, as squeue and sinfo printed them
// (without job_resources); the expected values are what squeue's own columns showed at that moment.
#include "world/slurm/slurm_observed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/test_places.h"
#include "world/core/observed_wait.h"

namespace weft::world {
namespace {

using control::Health;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string read_list(const std::string& name) {
  const Result<std::string> text = read_file(source_dir() + "/tests/slurm_lists/" + name + "-22.05.8.json");
  EXPECT_TRUE(text.ok());
  return text.ok() ? *text : std::string();
}

std::shared_ptr<const ObservedCluster> observe() {
  Result<std::vector<ObservedJob>> jobs = parse_observed_jobs(read_list("squeue"));
  EXPECT_TRUE(jobs.ok()) << jobs.error().text();
  const Result<std::vector<SlurmNode>> seen = parse_slurm_nodes(read_list("sinfo"));
  EXPECT_TRUE(seen.ok()) << seen.error().text();
  std::vector<ObservedNode> nodes;
  for (const SlurmNode& node : *seen) nodes.push_back(observe_node(node));
  return make_observed("Slurm", sched::Moment(1'794'930'665'000'000'000), std::move(*jobs), std::move(nodes));
}

TEST(SlurmObserved, NamesJobsAsSqueueDoes) {
  const auto cluster = observe();
  std::vector<std::string> ids;
  for (const ObservedJob& job : cluster->jobs) ids.push_back(job.id);
  EXPECT_THAT(ids, ElementsAre("1", "2", "3", "4", "5", "6", "7", "8_[0-3%2]", "9+0", "9+1", "11", "12", "13"));
  EXPECT_EQ(cluster->find_job("8_2")->id, "8_[0-3%2]");
  EXPECT_EQ(cluster->find_job("8")->id, "8_[0-3%2]");
  EXPECT_EQ(cluster->find_job("9+1")->name, "het");
  EXPECT_EQ(cluster->find_job("8_4"), nullptr);
  EXPECT_EQ(cluster->find_job("14"), nullptr);
  EXPECT_EQ(cluster->find_job(""), nullptr);
}

// squeue 22.05 prints the bytes of a job's name and comment as they are.
TEST(SlurmObserved, ANameThatIsNotUtf8HidesNothing) {
  std::string text = read_list("squeue");
  const std::size_t at = text.find("\"name\": \"big\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 13, "\"name\": \"a\xff\xc3\"");
  const Result<std::vector<ObservedJob>> jobs = parse_observed_jobs(text);
  ASSERT_TRUE(jobs.ok()) << jobs.error().text();
  EXPECT_EQ(jobs->size(), parse_observed_jobs(read_list("squeue"))->size());
  EXPECT_EQ(jobs->front().name, "a??");
}

TEST(SlurmObserved, ReadsAJob) {
  const auto cluster = observe();
  const ObservedJob& job = *cluster->find_job("1");
  EXPECT_EQ(job.name, "big");
  EXPECT_EQ(job.user, "root");
  EXPECT_EQ(job.queue, "main");
  EXPECT_EQ(job.state, "running");
  EXPECT_EQ(job.phase, ObservedPhase::running);
  EXPECT_EQ(job.nodes, "train[001-003]");
  EXPECT_EQ(job.gpus, 24U);
  EXPECT_EQ(job.limit, 1800);
  EXPECT_EQ(job.ends, 1'794'932'463);
  EXPECT_TRUE(job.exclusive);
  EXPECT_TRUE(job.can_requeue);
  EXPECT_EQ(cluster->find_job("8")->gpus_per_node, 1U);
  EXPECT_EQ(cluster->find_job("11")->gpus, 6U) << "--gpus=6";
  EXPECT_EQ(cluster->find_job("12")->gpus, 4U) << "two tasks with two each";
  EXPECT_EQ(cluster->find_node("train002")->jobs.size(), 1U);
  EXPECT_EQ(cluster->find_node("train002")->gpus_used, 8U);
  EXPECT_TRUE(cluster->find_node("train004")->usable);
  EXPECT_EQ(cluster->find_node("train005")->out_of_service, "drained by root: bad dimm");
}

TEST(SlurmObserved, ExplainsEachReason) {
  const auto cluster = observe();
  const auto why = [&](std::string_view id) { return explain_wait(*cluster, *cluster->find_job(id)); };
  EXPECT_EQ(
      why("2").sentence,
      "it waits for resources: it asks for 4 nodes; 1 of 5 nodes in partition main had its CPUs and GPUs free when "
      "weft looked");
  EXPECT_EQ(why("2").fitting, 1U);
  EXPECT_EQ(why("2").free_gpus, 8U);
  EXPECT_EQ(why("2").enough_at, 1'794'932'463) << "the limit of job 1";
  EXPECT_THAT(why("3").sentence, HasSubstr("jobs with a higher priority come first: 2, "));
  EXPECT_EQ(why("4").sentence, "Slurm cannot use train005: train005 drained by root: bad dimm");
  EXPECT_EQ(why("5").sentence, "it depends on afterok:1(unfulfilled); job 1 is running");
  EXPECT_EQ(why("6").sentence, "it is held by an administrator, who can release it with `scontrol release 6`");
  EXPECT_EQ(why("7").sentence, "it begins no earlier than 2026-11-17T16:51:02Z");
  EXPECT_EQ(why("9+0").sentence, "Slurm has given no reason yet");
  EXPECT_EQ(why("3").enough_at, 0) << "one of five nodes is drained: five are never free";
}

TEST(SlurmObserved, ReasonsHaveKinds) {
  EXPECT_EQ(wait_kind_of("JobHeldUser"), WaitKind::held_by_user);
  EXPECT_EQ(wait_kind_of("QOSMaxJobsPerUserLimit"), WaitKind::limit);
  EXPECT_EQ(wait_kind_of("AssocGrpGRES"), WaitKind::limit);
  EXPECT_EQ(wait_kind_of("PartitionDown"), WaitKind::partition);
  EXPECT_EQ(wait_kind_of("SomethingNew"), WaitKind::other);
}

TEST(SlurmObserved, ReusedIdsAreTheNewest) {
  ObservedJob old;
  old.id = "7";
  old.submitted = 100;
  old.name = "old";
  ObservedJob reused = old;
  reused.submitted = 200;
  reused.name = "new";
  EXPECT_EQ(make_observed("Slurm", {}, {reused, old}, {})->find_job("7")->name, "new");
  EXPECT_EQ(make_observed("Slurm", {}, {old, reused}, {})->find_job("7")->name, "new");
}

SlurmNode node_of(const std::string& state, std::vector<std::string> flags, const std::string& reason) {
  SlurmNode node;
  node.name = "n1";
  node.state = state;
  node.flags = std::move(flags);
  node.reason = reason;
  node.reason_user = reason.empty() ? "" : "root";
  return node;
}

TEST(SlurmObserved, OnlyWhatSlurmFoundItselfIsFatal) {
  EXPECT_EQ(judge_node(node_of("idle", {}, "")).health, Health::healthy);
  EXPECT_EQ(judge_node(node_of("mixed", {"DRAIN"}, "weft:3:not-responding:lab-1")).health, Health::healthy);
  EXPECT_EQ(judge_node(node_of("idle", {"NOT_RESPONDING"}, "")).health, Health::unknown);
  const NodeFinding silent = judge_node(node_of("down", {"NOT_RESPONDING"}, "Not responding"));
  EXPECT_EQ(silent.health, Health::fatal);
  EXPECT_EQ(silent.rule, "not-responding");
  EXPECT_EQ(silent.signal, "Slurm: down, not responding");
  const NodeFinding ours = judge_node(node_of("down", {"DRAIN", "NOT_RESPONDING"}, "weft:3:not-responding:lab-1"));
  EXPECT_EQ(ours.health, Health::fatal) << "our reason replaced Slurm's";
  EXPECT_EQ(ours.signal, silent.signal);
  EXPECT_EQ(judge_node(node_of("down", {}, "gres/gpu count reported lower than configured (7 < 8)")).rule,
            "gpu-missing");
  const NodeFinding person = judge_node(node_of("down", {}, "replace GPU 3"));
  EXPECT_EQ(person.health, Health::degraded);
  EXPECT_EQ(person.signal, "Slurm: down by root: replace GPU 3");
  EXPECT_EQ(judge_node(node_of("down", {}, "Node unexpectedly rebooted")).health, Health::degraded);
  const NodeFinding checked = judge_node(node_of("idle", {"DRAIN"}, "NHC: check_hw_gpu: 7 of 8 GPUs"));
  EXPECT_EQ(checked.health, Health::fatal);
  EXPECT_EQ(checked.signal, "Slurm: drained by root: NHC: check_hw_gpu: 7 of 8 GPUs");
  EXPECT_EQ(judge_node(node_of("idle", {"DRAIN"}, "new firmware")).health, Health::healthy);
}

TEST(SlurmObserved, RefusesListsThatAreTruncatedOrReportErrors) {
  const std::string text = read_list("squeue");
  EXPECT_FALSE(parse_observed_jobs(text.substr(0, text.size() / 2)).ok());
  EXPECT_FALSE(parse_observed_jobs("").ok());
  EXPECT_FALSE(parse_observed_jobs(R"({"errors": [{"error": "down"}], "jobs": []})").ok());
  EXPECT_FALSE(parse_observed_jobs(R"({"errors": [], "jobs": [{"job_id": 1}]})").ok());
  const auto empty = parse_observed_jobs(R"({"errors": [], "jobs": []})");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->empty());
}

// One refresh at the size of a large cluster: 2,000 nodes and 5,000 jobs.
TEST(SlurmObserved, ARefreshOfALargeClusterIsCheap) {
  nlohmann::json squeue = nlohmann::json::parse(read_list("squeue"));
  nlohmann::json sinfo = nlohmann::json::parse(read_list("sinfo"));
  const nlohmann::json running = squeue["jobs"][0];
  const nlohmann::json waiting = squeue["jobs"][1];
  const nlohmann::json idle = sinfo["nodes"][3];
  squeue["jobs"].clear();
  sinfo["nodes"].clear();
  for (int n = 0; n < 2000; ++n) {
    sinfo["nodes"].push_back(idle);
    sinfo["nodes"].back()["name"] = "node" + std::to_string(10'000 + n);
  }
  for (int j = 0; j < 5000; ++j) {
    squeue["jobs"].push_back(j < 1000 ? running : waiting);
    squeue["jobs"].back()["job_id"] = j + 1;
    squeue["jobs"].back()["nodes"] =
        j < 1000 ? "node[" + std::to_string(10'000 + 2 * j) + "-" + std::to_string(10'001 + 2 * j) + "]" : "";
  }
  const std::string jobs_text = squeue.dump();
  const std::string nodes_text = sinfo.dump();
  const std::clock_t begin = std::clock();
  Result<std::vector<ObservedJob>> jobs = parse_observed_jobs(jobs_text);
  const Result<std::vector<SlurmNode>> seen = parse_slurm_nodes(nodes_text);
  ASSERT_TRUE(jobs.ok() && seen.ok());
  std::vector<ObservedNode> nodes;
  for (const SlurmNode& node : *seen) nodes.push_back(observe_node(node));
  const auto cluster = make_observed("Slurm", {}, std::move(*jobs), std::move(nodes));
  const double parsed = 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const std::clock_t middle = std::clock();
  const WaitFacts facts = explain_wait(*cluster, cluster->jobs.back());
  const double explained = 1000.0 * static_cast<double>(std::clock() - middle) / CLOCKS_PER_SEC;
  EXPECT_EQ(cluster->jobs.size(), 5000U);
  EXPECT_EQ(facts.candidates, 2000U);
  EXPECT_EQ(facts.fitting, 0U);
  std::cout << "  2,000 nodes, 5,000 jobs: " << (jobs_text.size() + nodes_text.size()) / 1024 << " KiB, refresh "
            << parsed << " ms of CPU, explanation " << explained << " ms\n";
}

}  // namespace
}  // namespace weft::world
