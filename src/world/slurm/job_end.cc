#include "world/slurm/job_end.h"

#include <fmt/format.h>

namespace weft::world {
namespace {

// Of waitpid(2): exit status, or 128 + signal.
std::int32_t decode_status(std::int32_t status) {
  const std::int32_t signal = status & 0x7F;
  return signal != 0 ? 128 + signal : (status >> 8) & 0xFF;
}

std::string name_code(std::int32_t code) {
  return code > 128 ? fmt::format("exit status {} (signal {})", code, code - 128) : fmt::format("exit status {}", code);
}

// The batch script could not be started: not the program's fault.
bool is_launch_failure(const SlurmJob& job) {
  return job.state == SlurmState::failed && job.reason != "NonZeroExitCode" && job.reason != "None" &&
         !job.reason.empty();
}

PartOutcome describe_failure(const SlurmJob& job, const EndRecord& record) {
  const std::int32_t code = record.code.value_or(decode_status(job.exit_status));
  return {code == 0 ? 1 : code, record.text.empty() ? name_code(code) : record.text};
}

}  // namespace

PartOutcome describe_end(const SlurmJob& job, const EndRecord& record, bool by_weft) {
  const std::int32_t code = decode_status(job.exit_status);
  if (job.state == SlurmState::completed) return {};
  if (by_weft && job.state == SlurmState::canceled) return {143, "stopped"};
  if (by_weft && job.state == SlurmState::failed) return {code == 0 ? 143 : code, "stopped; " + name_code(code)};
  if (is_launch_failure(job)) return {kNotTheProgram, fmt::format("Slurm could not start it: {}", job.reason)};
  switch (job.state) {
    case SlurmState::failed:
      return describe_failure(job, record);
    case SlurmState::out_of_memory:
      return {code == 0 ? 137 : code, "out of memory"};
    case SlurmState::canceled:
      return {143, "canceled in Slurm (scancel), not by weft"};
    case SlurmState::deadline:
      return {143, "Slurm's deadline of the job has passed"};
    case SlurmState::timeout:
      return {kNotTheProgram, "Slurm's time limit has passed"};
    case SlurmState::node_fail:
      return {kNotTheProgram, "a node failed (Slurm: NODE_FAIL)"};
    case SlurmState::preempted:
      return {kNotTheProgram, "preempted by Slurm"};
    case SlurmState::boot_fail:
      return {kNotTheProgram, "a node did not boot (Slurm: BOOT_FAIL)"};
    default:
      return {kNotTheProgram, fmt::format("Slurm: {}", to_text(job.state))};
  }
}

}  // namespace weft::world
