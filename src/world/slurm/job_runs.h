// Runs of Slurm jobs as `squeue --json` lists them: which nodes and GPUs a job has, whose it is, and its comment, in
// which users ask for services beside the job. A job that is queued again and runs a second time is another run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

struct JobRun {
  std::uint32_t id = 0;      // as SLURM_JOB_ID; reused: only together with `started` it is unique
  std::int64_t started = 0;  // seconds since the epoch; of a waiting job: when Slurm expects to start it
  std::int64_t ends = 0;     // at the latest, by its time limit; 0: unlimited
  SlurmState state = SlurmState::unknown;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string comment;
  std::vector<std::string> nodes;
  std::vector<std::uint32_t> gpus;  // per node, in the order of the nodes; empty: none
  std::uint32_t cpus = 0;           // of all nodes
  std::int64_t memory_mib = 0;      // of all nodes; 0: not known
};

[[nodiscard]] Result<std::vector<JobRun>> parse_job_runs(std::string_view text);

// MiB of "mem=" in a list of trackable resources such as "cpu=8,mem=16G,node=1"; 0: it has none.
[[nodiscard]] std::int64_t memory_of_tres(std::string_view tres);

// What `sacct -X -P -n -o JobIDRaw,Start,State` (times in seconds) says of a run: true if it has ended, false if not,
// nullopt if it does not list the run.
[[nodiscard]] std::optional<bool> find_accounted_end(std::string_view text, std::uint32_t id, std::int64_t started);

}  // namespace weft::world
