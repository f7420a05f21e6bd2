// Slurm in memory, with the failures that the engine must survive. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "world/slurm/slurm_client.h"

namespace weft::world {

class FakeSlurm final : public SlurmClient {
 public:
  explicit FakeSlurm(int count) {
    for (int i = 0; i < count; ++i) {
      SlurmNode node;
      node.name = "n" + std::to_string(i);
      node.address = "10.0.0." + std::to_string(i);
      node.state = "idle";
      node.partitions = {"main"};
      node.boot_time = 1'000;
      node.slurmd_start = 2'000;
      node.gpus = 8;
      nodes.push_back(node);
    }
  }

  Result<std::vector<SlurmJob>> list_jobs(const std::string& comment) override {
    if (hung) hang();
    const std::lock_guard<std::mutex> lock(calls_);
    ++lists;
    if (down) return Error{ErrorCode::unavailable, "Slurm: Unspecified error", {}};
    std::vector<SlurmJob> found;
    for (const SlurmJob& job : jobs) {
      if (job.comment.starts_with(comment)) found.push_back(job);
    }
    return found;
  }
  Result<std::vector<ObservedJob>> list_observed_jobs() override {
    ++lists;
    if (down) return Error{ErrorCode::unavailable, "Slurm: Unspecified error", {}};
    return observed;
  }
  Result<std::vector<SlurmNode>> list_nodes() override {
    if (down || nodes_down) return Error{ErrorCode::unavailable, "Slurm: Unspecified error", {}};
    return nodes;
  }
  Result<std::vector<SlurmPartition>> list_partitions() override {
    return std::vector<SlurmPartition>{{"main", true, 600}};
  }

  Result<std::uint32_t> submit(const SlurmSubmission& submission) override {
    const std::lock_guard<std::mutex> lock(calls_);
    submissions.push_back(submission);
    if (submit_error && !submit_has_effect) return *std::exchange(submit_error, std::nullopt);
    SlurmJob job;
    job.id = next_id++;
    job.submitted = ++time;
    job.state = SlurmState::pending;
    job.held = true;
    job.comment = submission.comment;
    job.required_nodes = wrong_nodes.empty() ? join(submission.nodes, ",") : wrong_nodes;
    job.node_count = static_cast<std::uint32_t>(submission.nodes.size()) + (wrong_count ? 1 : 0);
    (submit_is_late ? late : jobs).push_back(job);
    if (submit_error) return *std::exchange(submit_error, std::nullopt);
    return job.id;
  }
  std::vector<Status> release(const std::vector<std::uint32_t>& ids) override {
    const std::lock_guard<std::mutex> lock(calls_);
    ++release_calls;
    std::vector<Status> outcomes;
    outcomes.reserve(ids.size());
    for (const std::uint32_t id : ids) outcomes.push_back(release_one(id));
    return outcomes;
  }
  Status release_one(std::uint32_t id) {
    ++releases;
    if (lost_releases > 0) {
      --lost_releases;
      return Error{ErrorCode::timeout, "timeout", {}};
    }
    SlurmJob* job = find(id);
    if (job == nullptr || is_ended(job->state)) return Error{ErrorCode::not_found, "Invalid job id specified", {}};
    job->held = false;
    run(id);
    return {};
  }
  Status cancel(std::uint32_t id) override {
    const std::lock_guard<std::mutex> lock(calls_);
    ++cancels;
    SlurmJob* job = find(id);
    if (job == nullptr || is_ended(job->state)) return Error{ErrorCode::not_found, "Invalid job id specified", {}};
    end(id, SlurmState::canceled, 15);
    return {};
  }
  Status signal(std::uint32_t id, int signal) override {
    const std::lock_guard<std::mutex> lock(calls_);
    signals.emplace_back(id, signal);
    if (signal == 15 && obeys_sigterm) end(id, SlurmState::failed, 143 << 8);
    return {};
  }
  Status drain(const std::string& node, const std::string& reason) override {
    ++node_writes;
    at(node).flags = {"DRAIN"};
    at(node).reason = reason;
    at(node).reason_user = "root";
    return {};
  }
  Status resume(const std::string& node) override {
    ++node_writes;
    at(node).flags.clear();
    at(node).reason.clear();
    return {};
  }
  Status requeue(const std::string& job, const std::string& /*node*/) override {
    requeued.push_back(job);
    return {};
  }
  void stop() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  SlurmJob* find(std::uint32_t id) {
    for (SlurmJob& job : jobs) {
      if (job.id == id && (job.state == SlurmState::pending || !is_ended(job.state))) return &job;
    }
    for (SlurmJob& job : jobs) {
      if (job.id == id) return &job;
    }
    return nullptr;
  }
  SlurmNode& at(const std::string& name) {
    for (SlurmNode& node : nodes) {
      if (node.name == name) return node;
    }
    ADD_FAILURE() << "no node " << name;
    return nodes.front();
  }
  void run(std::uint32_t id) {
    find(id)->state = SlurmState::running;
    find(id)->nodes = find(id)->required_nodes;
    ++runs[find(id)->comment.substr(0, find(id)->comment.rfind(':'))];
  }
  void end(std::uint32_t id, SlurmState state, std::int32_t status) {
    SlurmJob* job = find(id);
    job->state = state;
    job->exit_status = status;
    job->reason = state == SlurmState::failed ? "NonZeroExitCode" : "None";
  }
  void deliver_late() {
    jobs.insert(jobs.end(), late.begin(), late.end());
    late.clear();
  }

  std::vector<SlurmJob> jobs;
  std::vector<SlurmJob> late;
  std::vector<ObservedJob> observed;  // of watch mode
  std::vector<std::string> requeued;
  std::vector<SlurmNode> nodes;
  std::vector<SlurmSubmission> submissions;
  std::vector<std::pair<std::uint32_t, int>> signals;
  std::map<std::string, int> runs;  // how often a job of each attempt began to run
  std::uint32_t next_id = 100;
  std::int64_t time = 5'000;
  int lists = 0;
  int releases = 0;       // of jobs
  int release_calls = 0;  // of several at once
  int cancels = 0;
  int node_writes = 0;
  int lost_releases = 0;
  bool down = false;
  bool nodes_down = false;
  bool wrong_count = false;
  std::string wrong_nodes;  // of submissions, as a plugin of slurmctld would set them
  bool obeys_sigterm = true;
  std::optional<Error> submit_error;  // of the next submission
  bool submit_has_effect = false;     // although it fails
  bool submit_is_late = false;        // its effect comes with deliver_late()
  bool hung = false;

 private:
  void hang() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopped_; });
  }
  std::mutex calls_;  // of several threads: submissions and the rest
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
};

}  // namespace weft::world
