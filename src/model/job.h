// A job file: what to run, on how many servers, with which data. The same for every job format (PyTorchJob, TrainJob,
// Indexed Job, sbatch). Unset keys are filled in from the cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "model/job_training.h"

namespace weft::model {

struct JobMountSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> volume;  // a volume of the cluster file
  Sourced<std::string> path;    // mount path for ranks; unset: /data, /checkpoints, /scratch or /home by purpose
  Sourced<bool> read_only;      // unset: as set for the volume; datasets are read-only
};

// How a running job is asked for a checkpoint before it is stopped.
enum class JobNotice { none, signal, file };
const std::vector<std::pair<std::string_view, JobNotice>>& choices_of(JobNotice);

// Signals by which a job can be asked for a checkpoint.
enum class NoticeSignal { usr1, usr2, term, hup, interrupt };
const std::vector<std::pair<std::string_view, NoticeSignal>>& choices_of(NoticeSignal);

struct JobCheckpointSpec {
  using IsRecord = void;
  SourceLocation place;
  // Volume names or absolute paths; unset: the mounted checkpoint volumes.
  Sourced<std::vector<Sourced<std::string>>> volumes;
  Sourced<Duration> interval;  // unset: from the failure rate
  Sourced<JobNotice> notice{JobNotice::none};
  Sourced<NoticeSignal> signal{NoticeSignal::usr1};
};

struct JobRestartSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> max_failures;                   // unset: max_restarts
  Sourced<Duration> backoff{Duration(10'000'000'000)};  // after the first failure; doubles with every further one
};

struct JobSpec {
  using IsRecord = void;

  // Defined out of line in the schema, compiled once: it has hundreds of members, and most files copy or destroy one.
  JobSpec();
  JobSpec(const JobSpec& other);
  JobSpec(JobSpec&& other) noexcept;
  JobSpec& operator=(const JobSpec& other);
  JobSpec& operator=(JobSpec&& other) noexcept;
  ~JobSpec();

  SourceLocation place;
  Sourced<std::int64_t> job;  // version of the format: 1
  Sourced<Name> name;
  Sourced<std::string> tenant;          // namespace and account; unset: the only tenant, or the first of the partition
  Sourced<std::string> pool;            // unset: the first training pool
  Sourced<std::string> partition;       // unset: the first that contains the pool
  Sourced<std::int64_t> nodes;          // servers
  Sourced<std::int64_t> min_nodes;      // minimum to continue with; unset: nodes (not elastic)
  Sourced<std::int64_t> gpus_per_node;  // unset: all GPUs of the server
  Sourced<std::string> image;           // unset: PyTorch from the site's registry
  Sourced<std::vector<std::string>> command;  // script and arguments that torchrun starts on every GPU
  Sourced<std::string> resume;                // checkpoint to resume from: becomes --resume_from_checkpoint PATH
  Sourced<std::int64_t> max_restarts;         // unset: workload.max_restarts
  Sourced<Duration> time_limit;               // unset: the partition's
  Sourced<std::string> priority;              // unset: the tenant's
  Sourced<Bytes> shared_memory{Bytes(std::int64_t{64} << 30)};
  Sourced<std::vector<JobMountSpec>> mounts;  // unset: every dataset and checkpoint volume
  Sourced<NamedValues<std::string>> environment{NamedValues<std::string>{}};  // in addition to the cluster's own
  Sourced<JobCheckpointSpec> checkpoint;                                      // for `weft job submit`
  Sourced<JobRestartSpec> restart;                                            // for `weft job submit`
  Sourced<TrainingSpec> training;  // the computation; only needed by the simulator
};

// Default mount path of a volume on hosts and in pods: /data, /checkpoints, /scratch or /home for the first of its
// purpose, followed by its name for others.
[[nodiscard]] std::string default_mount_path(const Spec& spec, const VolumeSpec& volume);

// Reads a job file; reports every syntax and type error.
[[nodiscard]] std::optional<JobSpec> read_job(const YamlNode& root, Diagnostics& diagnostics);
// Fills in unset keys and checks the job against the cluster: pool, partition, tenant, volumes, counts. `tenants`:
// those that the submitter may use; null: all. Others are unknown tenants, and no message names them.
void resolve(JobSpec& job, const Cluster& cluster, Diagnostics& diagnostics,
             const std::vector<std::string>* tenants = nullptr);

}  // namespace weft::model
