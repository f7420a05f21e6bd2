// The schema of a job file: every key, its meaning and its limits. Defaults that depend on the cluster are set in
// job.cc.
#include "model/job.h"

namespace weft::model {

JobSpec::JobSpec() = default;
JobSpec::JobSpec(const JobSpec& other) = default;
JobSpec::JobSpec(JobSpec&& other) noexcept = default;
JobSpec& JobSpec::operator=(const JobSpec& other) = default;
JobSpec& JobSpec::operator=(JobSpec&& other) noexcept = default;
JobSpec::~JobSpec() = default;

template <>
const Schema& schema_of<JobMountSpec>() {
  static const Schema schema = [] {
    using R = JobMountSpec;
    SchemaBuilder<R> b("job-mount", "A volume mounted into the job's containers.");
    b.field("volume", &R::volume, "name of a volume in the cluster file").required();
    b.field("path", &R::path, "mount path; default: /data, /checkpoints, /scratch or /home, by purpose");
    b.field("read_only", &R::read_only, "mount read-only; default: the volume's setting, true for datasets");
    return b.build();
  }();
  return schema;
}

const std::vector<std::pair<std::string_view, JobNotice>>& choices_of(JobNotice) {
  static const std::vector<std::pair<std::string_view, JobNotice>> choices{
      {"none", JobNotice::none}, {"signal", JobNotice::signal}, {"file", JobNotice::file}};
  return choices;
}

const std::vector<std::pair<std::string_view, NoticeSignal>>& choices_of(NoticeSignal) {
  static const std::vector<std::pair<std::string_view, NoticeSignal>> choices{{"USR1", NoticeSignal::usr1},
                                                                              {"USR2", NoticeSignal::usr2},
                                                                              {"TERM", NoticeSignal::term},
                                                                              {"HUP", NoticeSignal::hup},
                                                                              {"INT", NoticeSignal::interrupt}};
  return choices;
}

template <>
const Schema& schema_of<JobCheckpointSpec>() {
  static const Schema schema = [] {
    using R = JobCheckpointSpec;
    SchemaBuilder<R> b("job-checkpoint", "Where a submitted job writes checkpoints, and how it is asked for one.");
    b.field(
        "volumes", &R::volumes,
        "volume names or paths (/... or ./..., from the directory of the submission) that checkpoints are written to, "
        "alternately with two; default: the mounted checkpoint volumes");
    b.field("interval", &R::interval, "time between checkpoints; default: from the failure rate of the servers");
    b.field("notice", &R::notice, "how the job is asked for a checkpoint before it is stopped");
    b.field("signal", &R::signal, "signal sent with `notice: signal`");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<JobRestartSpec>() {
  static const Schema schema = [] {
    using R = JobRestartSpec;
    SchemaBuilder<R> b("job-restart", "Restarts of a submitted job after its own failures.");
    b.field("max_failures", &R::max_failures, "failures after which the job is held; default: max_restarts")
        .range(0, 1000);
    b.field(
        "backoff", &R::backoff,
        "delay after the first failure; doubles with every further one, unless the job ran for more than 10 minutes");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<JobSpec>() {
  static const Schema schema = [] {
    using R = JobSpec;
    SchemaBuilder<R> b("job", "A training job: command, number of servers and data.");
    b.field("job", &R::job, "version of the file format").required().range(1, 1);
    b.field("name", &R::name, "name of the job").required();
    b.field("tenant", &R::tenant,
            "tenant (namespace and account); default: the first one allowed to use the partition");
    b.field("pool", &R::pool, "pool of servers; default: the first training pool");
    b.field("partition", &R::partition, "partition; default: the first one that contains the pool");
    b.field("nodes", &R::nodes, "servers").required().range(1, 100'000);
    b.field("min_nodes", &R::min_nodes, "minimum number of servers of an elastic job; default: all").range(1, 100'000);
    b.field("gpus_per_node", &R::gpus_per_node, "GPUs per server; default: all").range(1, 72);
    b.field("image", &R::image, "container image; default: PyTorch from the site's registry");
    b.field("command", &R::command,
            "script and arguments that torchrun runs on every GPU; required without a `training` section");
    b.field("resume", &R::resume, "checkpoint to resume from, passed as --resume_from_checkpoint");
    b.field("max_restarts", &R::max_restarts, "maximum number of restarts; default: workload.max_restarts")
        .range(0, 1000);
    b.field("time_limit", &R::time_limit, "time limit; default: the partition's");
    b.field("priority", &R::priority, "priority class; default: the tenant's");
    b.field("shared_memory", &R::shared_memory, "size of /dev/shm per server");
    b.field("mounts", &R::mounts, "volumes to mount; default: all dataset and checkpoint volumes");
    b.field("environment", &R::environment, "environment variables, in addition to the cluster's");
    b.field("checkpoint", &R::checkpoint, "checkpoints, for `weft job submit`");
    b.field("restart", &R::restart, "restarts, for `weft job submit`");
    b.field("training", &R::training, "model and training parameters, for `weft sim life`");
    return b.build();
  }();
  return schema;
}

std::optional<JobSpec> read_job(const YamlNode& root, Diagnostics& diagnostics) {
  if (root.kind == YamlNode::Kind::null) {
    diagnostics.error(root.place, "the file is empty", "a job file starts with `job: 1`");
    return std::nullopt;
  }
  const std::size_t before = diagnostics.error_count();
  JobSpec job;
  Codec<JobSpec>::read(root, diagnostics, job);
  if (diagnostics.error_count() != before) return std::nullopt;
  return job;
}

}  // namespace weft::model
