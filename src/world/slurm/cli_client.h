// Slurm through its command line: sbatch, scancel, scontrol, squeue --json, sinfo --json. Every command has a deadline
// and a clean environment, so that variables such as SQUEUE_STATES do not hide jobs; nothing goes through a shell.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "world/slurm/job_table.h"
#include "world/slurm/slurm_client.h"

namespace weft::world {

struct CliOptions {
  std::string conf;  // slurm.conf; "": Slurm's default
  std::string path;  // PATH to find the commands
  Duration list_deadline = milliseconds(60'000);
  Duration change_deadline = milliseconds(60'000);
};

class CliClient final : public SlurmClient {
 public:
  explicit CliClient(CliOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Result<std::vector<SlurmJob>> list_jobs(const std::string& comment) override;
  [[nodiscard]] Result<std::vector<ObservedJob>> list_observed_jobs() override;
  [[nodiscard]] Result<std::vector<SlurmNode>> list_nodes() override;
  [[nodiscard]] Result<std::vector<SlurmPartition>> list_partitions() override;
  [[nodiscard]] Result<std::uint32_t> submit(const SlurmSubmission& submission) override;
  [[nodiscard]] std::vector<Status> release(const std::vector<std::uint32_t>& jobs) override;
  [[nodiscard]] Status cancel(std::uint32_t job) override;
  [[nodiscard]] Status signal(std::uint32_t job, int signal) override;
  [[nodiscard]] Status drain(const std::string& node, const std::string& reason) override;
  [[nodiscard]] Status resume(const std::string& node) override;
  [[nodiscard]] Status requeue(const std::string& job, const std::string& node) override;
  void stop() override { stopped_ = true; }

  // Runs a command that only reads, and returns what it prints.
  [[nodiscard]] Result<std::string> list(std::vector<std::string> words);
  // sbatch with these arguments, --parsable among them, and the script as its input; returns the job's id.
  [[nodiscard]] Result<std::uint32_t> submit_script(std::vector<std::string> arguments, std::string script);
  // A token for slurmrestd, valid for so many seconds.
  [[nodiscard]] Result<std::string> make_token(std::int64_t seconds);

 private:
  [[nodiscard]] Result<std::string> change(std::vector<std::string> words, std::string input = {});
  [[nodiscard]] ProcessRequest make_request(std::vector<std::string> words) const;

  CliOptions options_;
  JobTableWidths widths_;
  std::atomic<bool> stopped_ = false;
};

// Arguments of sbatch for a submission, without the program.
[[nodiscard]] std::vector<std::string> sbatch_arguments(const SlurmSubmission& submission);
// What a command of Slurm that failed with this text on standard error has done: see SlurmClient.
[[nodiscard]] ErrorCode classify_failure(std::string_view text);
// Lines of `scontrol -o show partition`.
[[nodiscard]] Result<std::vector<SlurmPartition>> parse_partitions(std::string_view text);

}  // namespace weft::world
