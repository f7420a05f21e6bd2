// The batch job of an attempt: what is submitted to Slurm for a StartAttempt, and the comment by which it is found
// again. Computes only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/command.h"
#include "sched/machine/resources.h"
#include "world/slurm/slurm_client.h"

namespace weft::world {

// "weft:CLUSTER:JOB.ATTEMPT:OPERATION"
struct AttemptMark {
  control::AttemptName name;
  control::OperationId operation = 0;
};
[[nodiscard]] std::string comment_prefix(const std::string& cluster);  // "weft:CLUSTER:"
[[nodiscard]] std::string format_comment(const std::string& cluster, const AttemptMark& mark);
[[nodiscard]] std::optional<AttemptMark> parse_comment(std::string_view comment, const std::string& cluster);

struct BatchContext {
  std::string cluster;  // in comments
  std::string state;    // directory of the engine
  std::string partition;
  std::int64_t max_minutes = 0;         // of the partition; 0: unlimited
  std::vector<sched::NodeShape> nodes;  // by NodeId
  struct Host {
    std::string address;
    std::uint32_t cpus = 0;  // as Slurm counts them; 0: unknown
    std::uint32_t memory_mib = 0;
  };
  std::vector<Host> hosts;  // by NodeId
};

// Where the batch script leaves its exit status.
[[nodiscard]] std::string end_file(const std::string& state, const control::AttemptName& name);
// Output of the batch script and of srun.
[[nodiscard]] std::string batch_log(const std::string& state, const control::AttemptName& name);

// `invalid_input`: Slurm cannot run it as placed.
[[nodiscard]] Result<SlurmSubmission> make_batch_job(const control::StartAttempt& command, const BatchContext& context);

}  // namespace weft::world
