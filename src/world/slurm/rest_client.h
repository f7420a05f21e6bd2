// Slurm's lists through slurmrestd (openapi/v0.0.38), which saves slurmctld and this host a process per list. Changes
// go through Slurm's commands: this version of the API cannot drain nodes, and misreads the node count of a submission.
// slurmrestd 22.05 may stop accepting connections: after a failure the commands are used, and slurmrestd is tried again
// at intervals.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "world/slurm/cli_client.h"

namespace weft::world {

struct RestOptions {
  std::string address;     // "unix:/run/slurmrestd.sock", "127.0.0.1:6820" or "https://host:6820"
  std::string user;        // of the token
  std::string token_file;  // JWT; "": from `scontrol token`
  Duration deadline = milliseconds(20'000);
  Duration retry = milliseconds(30'000);  // after a failure
};

class RestClient final : public SlurmClient {
 public:
  RestClient(RestOptions options, std::shared_ptr<CliClient> commands);

  [[nodiscard]] Result<std::vector<SlurmJob>> list_jobs(const std::string& comment) override;
  [[nodiscard]] Result<std::vector<ObservedJob>> list_observed_jobs() override;
  [[nodiscard]] Result<std::vector<SlurmNode>> list_nodes() override;
  [[nodiscard]] Result<std::vector<SlurmPartition>> list_partitions() override { return commands_->list_partitions(); }
  [[nodiscard]] Result<std::uint32_t> submit(const SlurmSubmission& submission) override {
    return commands_->submit(submission);
  }
  [[nodiscard]] std::vector<Status> release(const std::vector<std::uint32_t>& jobs) override {
    return commands_->release(jobs);
  }
  [[nodiscard]] Status cancel(std::uint32_t job) override { return commands_->cancel(job); }
  [[nodiscard]] Status signal(std::uint32_t job, int signal) override { return commands_->signal(job, signal); }
  [[nodiscard]] Status drain(const std::string& node, const std::string& reason) override {
    return commands_->drain(node, reason);
  }
  [[nodiscard]] Status resume(const std::string& node) override { return commands_->resume(node); }
  [[nodiscard]] Status requeue(const std::string& job, const std::string& node) override {
    return commands_->requeue(job, node);
  }
  [[nodiscard]] std::vector<std::string> take_notes() override { return std::exchange(notes_, {}); }
  void stop() override;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool is_due() const { return works_ || Clock::now() >= retry_at_; }
  void note_outcome(const Status& outcome);
  [[nodiscard]] Result<std::string> token();
  [[nodiscard]] Result<std::string> get(const std::string& path);
  template <class List, class Parse, class Command>
  [[nodiscard]] Result<std::vector<List>> list(const std::string& path, const Parse& parse, const Command& command);

  RestOptions options_;
  std::shared_ptr<CliClient> commands_;
  std::atomic<bool> stopped_ = false;
  bool works_ = true;  // as of the last request
  bool tried_ = false;
  Clock::time_point retry_at_{};
  std::string token_;
  Clock::time_point token_until_{};
  std::vector<std::string> notes_;
};

}  // namespace weft::world
