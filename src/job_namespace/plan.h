// The Kubernetes namespace of one run of a Slurm job: its name, the nodes its pods may use, and how much of them. Made
// from what Slurm lists; a run that cannot have one has the reason instead. No calls.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/slurm/job_runs.h"
#include "world/slurm/slurm_json.h"

namespace weft::job_namespace {

// Whether the comment of a job (sbatch --comment) asks for a namespace: it has the word "weft:namespace".
[[nodiscard]] bool asks_for_namespace(std::string_view comment);

// "123-1763400000": id and start of the run.
[[nodiscard]] std::string key_of(const world::JobRun& run);
[[nodiscard]] std::string name_of(const world::JobRun& run);  // "slurm-123-1763400000"

struct NamespacePlan {
  std::string name;
  std::string key;
  std::uint32_t job = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t ends = 0;  // seconds since the epoch; 0: unlimited
  std::vector<std::string> nodes;
  bool whole_nodes = false;  // the job has all CPUs of its nodes: only GPUs are limited
  std::uint32_t gpus = 0;    // that pods may use
  std::uint32_t cpus = 0;
  std::int64_t memory_mib = 0;
  std::string note;  // why pods get less than the job has; "": they do not
};

using SlurmNodes = std::map<std::string, world::SlurmNode, std::less<>>;

// `invalid_input`: this run cannot have a namespace.
[[nodiscard]] Result<NamespacePlan> make_plan(const world::JobRun& run, const SlurmNodes& nodes);

}  // namespace weft::job_namespace
