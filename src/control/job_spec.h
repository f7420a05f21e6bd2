// Job as submitted: what the scheduler needs to place it, what an engine needs to run it, and how it survives failures.
// Read from a weft job file, an sbatch script or a Kubernetes manifest; immutable after submission.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "lease/lease.h"
#include "sched/machine/job.h"

namespace weft::control {

// How a running job is asked for a checkpoint before it is stopped.
enum class CheckpointNotice : std::uint8_t {
  none,    // it cannot be asked
  signal,  // `notice_signal` to every rank
  file     // the file $WEFT_CHECKPOINT_REQUEST appears
};
[[nodiscard]] std::string_view to_text(CheckpointNotice notice);

struct CheckpointPolicy {
  // Directories that checkpoints are written to; with two, alternately. Empty: the job writes none.
  std::vector<std::string> volumes;
  Duration interval{};                       // 0: from the failure rate of the job's nodes (Young/Daly)
  Duration write_time = sched::seconds(30);  // expected, for Young/Daly until one has been measured
  CheckpointNotice notice = CheckpointNotice::none;
  int notice_signal = 10;  // SIGUSR1
};

struct RestartPolicy {
  std::int32_t max_failures = 3;          // application failures; one more holds the job
  Duration backoff = sched::seconds(10);  // after the first failure; doubles with every further one
  Duration max_backoff = sched::seconds(600);
  bool on_success_only = false;  // a non-zero exit is final: no restart after application failures
};

struct JobSpec {
  sched::Job shape;  // name, tenant, user, tasks, topology, limits, preemption
  // Program and arguments, started once per task with the torchrun environment. Not interpreted by a shell.
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  // working directory; "": the submitter's home
  std::string output;     // log file, with %j (job), %a (attempt), %t (task); "": in the state directory of weft serve
  std::string image;      // container image, for engines with containers; "": the engine's
  CheckpointPolicy checkpoint;
  RestartPolicy restart;
  std::uint32_t uid = 0;  // of the submitter: processes run as this user
  std::uint32_t gid = 0;
  lease::LeaseOwner engine = lease::LeaseOwner::none;  // that runs it; none: the server's default
};

// One line of text without tabs or newlines; parse_job_spec() of it is an equal job. For the journal.
[[nodiscard]] std::string to_text(const JobSpec& spec);
[[nodiscard]] Result<JobSpec> parse_job_spec(std::string_view text);
// What is wrong with it, or "" if nothing.
[[nodiscard]] std::string problem_of(const JobSpec& spec);

}  // namespace weft::control
