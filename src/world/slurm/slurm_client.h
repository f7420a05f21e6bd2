// Slurm as the engine uses it: lists of jobs and nodes, and the few changes that weft makes. Calls block until they are
// answered or their deadline passes. submit() may be called from several threads at once, the rest from one. No policy,
// no retries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "world/core/observed.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

// A batch job to submit. It is always held and never requeued.
struct SlurmSubmission {
  std::string name;
  std::string comment;
  std::string partition;           // "": the default one
  std::string account;             // "": the user's default
  std::vector<std::string> nodes;  // exactly these
  std::uint32_t tasks_per_node = 1;
  std::uint32_t cpus_per_task = 0;  // 0: not requested
  std::uint32_t gpus_per_node = 0;
  std::int64_t memory_mib = 0;  // per node; 0: all of it if exclusive, otherwise Slurm's default
  bool exclusive = false;       // whole nodes
  std::int64_t minutes = 0;     // time limit; 0: unlimited
  bool other_user = false;      // submit for `uid` and `gid`; needs root
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string directory;
  std::string output;  // of the batch script itself
  std::string script;
};

struct SlurmPartition {
  std::string name;
  bool is_default = false;
  std::int64_t max_minutes = 0;  // 0: unlimited
};

// What became of a call that failed, as ErrorCode:
//   unavailable    proven: it had no effect, and may be repeated (no connection, refused for now)
//   invalid_input  proven: it had no effect, and never will have (no such partition, no such node)
//   not_found      the job does not exist or has ended
//   timeout        it may have had its effect, or may still have
class SlurmClient {
 public:
  SlurmClient() = default;
  SlurmClient(const SlurmClient&) = delete;
  SlurmClient& operator=(const SlurmClient&) = delete;
  SlurmClient(SlurmClient&&) = delete;
  SlurmClient& operator=(SlurmClient&&) = delete;
  virtual ~SlurmClient() = default;

  // All jobs whose comment begins with `comment`, those that ended a short time ago too.
  [[nodiscard]] virtual Result<std::vector<SlurmJob>> list_jobs(const std::string& comment) = 0;
  // All jobs of Slurm, of every user. For watch mode.
  [[nodiscard]] virtual Result<std::vector<ObservedJob>> list_observed_jobs() = 0;
  [[nodiscard]] virtual Result<std::vector<SlurmNode>> list_nodes() = 0;
  [[nodiscard]] virtual Result<std::vector<SlurmPartition>> list_partitions() = 0;

  // Returns the job's id.
  [[nodiscard]] virtual Result<std::uint32_t> submit(const SlurmSubmission& submission) = 0;
  // One outcome per job, in their order. If one of several cannot be released, the outcome of the others is `timeout`.
  [[nodiscard]] virtual std::vector<Status> release(const std::vector<std::uint32_t>& jobs) = 0;
  // Ends the job: SIGTERM, then SIGKILL after Slurm's KillWait.
  [[nodiscard]] virtual Status cancel(std::uint32_t job) = 0;
  // To every process of its tasks; the batch script is not signaled.
  [[nodiscard]] virtual Status signal(std::uint32_t job, int signal) = 0;
  [[nodiscard]] virtual Status drain(const std::string& node, const std::string& reason) = 0;
  // Removes the drain flag only.
  [[nodiscard]] virtual Status resume(const std::string& node) = 0;
  // Ends a job, which runs on `node` among others, and queues it again. `job` as Slurm names it.
  [[nodiscard]] virtual Status requeue(const std::string& job, const std::string& node) = 0;

  // What operators should know since the last call, such as a change of the way to Slurm.
  [[nodiscard]] virtual std::vector<std::string> take_notes() { return {}; }

  // Calls that are running and those to come fail soon: the engine ends. May be called from another thread.
  virtual void stop() = 0;
};

}  // namespace weft::world
