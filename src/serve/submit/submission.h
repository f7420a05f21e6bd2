// Reads what `weft job submit FILE` accepts into a control::JobSpec: weft job files, sbatch scripts, and Kubernetes
// manifests (PyTorchJob, TrainJob, Indexed Job). What cannot be honored is an error at its line, never dropped
// silently.
//
// One task is one node. A weft job file whose command begins with a .py file, and a torchrun command of a manifest, run
// torchrun on every node with the rendezvous of the engine; other commands run as they are. A batch script runs ONCE
// PER NODE (Slurm: on the first node only), with srun, `scontrol show hostnames`, `scontrol requeue` and `scancel
// --signal` as shell functions (assets/serve/srun_prelude.sh): srun starts its program on this node, --ntasks-per-node
// times. Commands outside of srun therefore run on every node, which a warning says.
//
// Engines must set for each task: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, WEFT_JOB_ID, WEFT_ATTEMPT and
// WEFT_NODELIST (names of the nodes, comma-separated, in rank order).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "control/job_spec.h"
#include "model/cluster.h"
#include "sched/machine/machine.h"

namespace weft::serve {

// How the engine runs jobs that have a container image.
enum class ContainerRuntime : std::uint8_t {
  none,        // on the host, without it
  kubernetes,  // in its pods
  apptainer    // in `apptainer exec`
};

struct Submitter {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string user;
  std::string directory;  // absolute: where the job was submitted, its working directory unless the file sets one
  std::string tenant;     // takes precedence over the file's; "": the file's
  ContainerRuntime containers = ContainerRuntime::none;
  std::string image{};  // takes precedence over the file's; "": the file's
  // That the submitter may use; nullopt: all. Messages name no other.
  std::optional<std::vector<std::string>> tenants{};

  [[nodiscard]] const std::vector<std::string>* allowed_tenants() const { return tenants ? &*tenants : nullptr; }
};

enum class SubmissionFormat : std::uint8_t { weft, sbatch, manifest };
[[nodiscard]] std::string_view to_text(SubmissionFormat format);
// By content: a #! line or #SBATCH lines, top-level keys apiVersion or kind, anything else is a weft job file.
[[nodiscard]] SubmissionFormat detect_submission(std::string_view text);

// Linux passes at most 128 KiB per argument, and the script is one.
inline constexpr std::size_t kMaxScriptBytes = 120U << 10U;
inline constexpr std::size_t kMaxManifestBytes = 1U << 20U;
inline constexpr std::size_t kMaxVariables = 1000;

// Reports every error and warning; nullopt if there is an error. A job larger than the machine is not one: the
// scheduler reports it as impossible.
[[nodiscard]] std::optional<control::JobSpec> read_submission(const Sources& sources, FileId file,
                                                              const model::Cluster& cluster,
                                                              const sched::Machine& machine, const Submitter& submitter,
                                                              Diagnostics& diagnostics);

}  // namespace weft::serve
