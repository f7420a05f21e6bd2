// weft job files: read and resolved by the model, which knows their keys; here only what is needed to run them.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "base/utf8.h"
#include "model/job.h"
#include "serve/submit/draft.h"

namespace weft::serve {
namespace {

constexpr Duration kMinBackoff = milliseconds(100);

int number_of(model::NoticeSignal signal) {
  switch (signal) {
    case model::NoticeSignal::usr1:
      return SIGUSR1;
    case model::NoticeSignal::usr2:
      return SIGUSR2;
    case model::NoticeSignal::term:
      return SIGTERM;
    case model::NoticeSignal::hup:
      return SIGHUP;
    case model::NoticeSignal::interrupt:
      break;
  }
  return SIGINT;
}

control::CheckpointNotice notice_of(model::JobNotice notice) {
  switch (notice) {
    case model::JobNotice::signal:
      return control::CheckpointNotice::signal;
    case model::JobNotice::file:
      return control::CheckpointNotice::file;
    case model::JobNotice::none:
      break;
  }
  return control::CheckpointNotice::none;
}

const model::VolumeSpec* volume_named(const model::Cluster& cluster, std::string_view name) {
  for (const model::StorageSpec& system : cluster.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.name->text == name) return &volume;
    }
  }
  return nullptr;
}

// Keys that only a job which is run has: the formats that job files are rendered to cannot express them.
struct RunKeys {
  bool without_gpus = false;   // `gpus_per_node: 0`
  bool failure_final = false;  // `restart: {on_failure: fail}`
};

void read_on_failure(const SubmitContext& context, YamlNode& restart, RunKeys& keys) {
  const auto found = std::find_if(restart.entries.begin(), restart.entries.end(),
                                  [](const YamlEntry& entry) { return entry.key == "on_failure"; });
  if (found == restart.entries.end()) return;
  const std::string& action = found->value.scalar;
  if (action != "fail" && action != "restart") {
    context.error(found->value.place, fmt::format("{} is not an action on failure", in_backticks(action)),
                  "fail: the job has failed; restart: it is started again", action.size());
  }
  keys.failure_final = action == "fail";
  restart.entries.erase(found);
}

// Takes them out of the file, so that the rest is one for the model.
RunKeys take_run_keys(const SubmitContext& context, YamlNode& root) {
  RunKeys keys;
  for (YamlEntry& entry : root.entries) {
    if (entry.key == "gpus_per_node" && entry.value.scalar == "0" && !entry.value.quoted) {
      keys.without_gpus = true;
      entry.value.scalar = "1";  // counts for the quota as little as possible
    }
    if (entry.key == "restart") read_on_failure(context, entry.value, keys);
  }
  return keys;
}

class WeftJobReader {
 public:
  WeftJobReader(model::JobSpec job, RunKeys keys, const SubmitContext& context)
      : job_(std::move(job)), keys_(keys), context_(context) {}

  std::optional<JobDraft> read() {
    if (!context_.submitter.tenant.empty()) job_.tenant = given_at(context_.submitter.tenant, job_.place);
    const bool has_command = job_.command.from_file();
    model::resolve(job_, context_.cluster, context_.diagnostics, context_.submitter.allowed_tenants());
    if (keys_.without_gpus) job_.gpus_per_node.value = 0;
    if (!has_command && job_.training.has_value()) {  // otherwise resolve() has reported it
      context_.error(job_.place, "the job has no command", "`command: [train.py, --epochs, \"3\"]`");
    }
    set_owner();
    set_environment();
    set_program();
    set_checkpoint();
    set_restarts();
    if (context_.failed()) return std::nullopt;
    return std::move(draft_);
  }

 private:
  void set_owner() {
    draft_.place = job_.place;
    draft_.name = given_at(job_.name->text, job_.name.place);
    draft_.tenant = job_.tenant;
    draft_.partition = job_.partition;
    draft_.pool = job_.pool;
    draft_.priority = job_.priority;
    draft_.time_limit = job_.time_limit;
    draft_.nodes = job_.nodes;
    draft_.min_nodes = job_.min_nodes;
    draft_.gpus = job_.gpus_per_node;
    draft_.resolved = true;
  }

  void set_environment() {
    for (const auto& [name, value] : context_.cluster.spec().workload->environment.value) {
      draft_.spec.environment.emplace_back(name, value.value);
    }
    for (const auto& [name, value] : job_.environment.value) {
      set_variable(draft_, context_, name, value.value, value.place);
    }
  }

  // A Python file is started by torchrun on every GPU, as in rendered batch scripts; a program runs once per node, and
  // so does a Python file without GPUs.
  void set_program() {
    std::vector<std::string> words = job_.command.value;
    const bool script = !words.empty() && words.front().ends_with(".py");
    if (script) words.insert(words.begin(), keys_.without_gpus ? "python3" : "torchrun");
    if (job_.resume.has_value()) words.insert(words.end(), {"--resume_from_checkpoint", job_.resume.value});
    set_command(draft_, std::move(words), job_.gpus_per_node.value);
    set_image();
  }

  void set_image() {
    const Submitter& submitter = context_.submitter;
    const bool has_image = job_.image.from_file() || !submitter.image.empty();
    if (submitter.containers == ContainerRuntime::none) {
      if (job_.image.from_file() && submitter.image.empty())
        context_.warn(
            job_.image.place,
            fmt::format("the image {} is not used: the program runs on the host", in_backticks(job_.image.value)), {},
            job_.image->size());
      return;
    }
    if (job_.image.from_file()) draft_.spec.image = job_.image.value;
    if (has_image && submitter.containers == ContainerRuntime::apptainer) set_binds();
  }

  // Apptainer binds what this variable names. The paths are those of the nodes, inside and outside of the container.
  void set_binds() {
    constexpr std::string_view kBind = "APPTAINER_BIND";
    for (const auto& [name, value] : draft_.spec.environment) {
      if (name == kBind) return;
    }
    std::vector<std::string> binds;
    for (const model::JobMountSpec& mount : job_.mounts.value)
      binds.push_back(mount.path.value + (mount.read_only.value ? ":" + mount.path.value + ":ro" : ""));
    if (!binds.empty()) draft_.spec.environment.emplace_back(kBind, join(binds, ","));
  }

  [[nodiscard]] std::vector<std::string> mounted_volumes() const {
    std::vector<std::string> paths;
    for (const model::JobMountSpec& mount : job_.mounts.value) {
      const model::VolumeSpec* volume = volume_named(context_.cluster, mount.volume.value);
      if (volume == nullptr || volume->purpose.value != model::VolumePurpose::checkpoint) continue;
      if (!mount.read_only.value) paths.push_back(mount.path.value);
    }
    return paths;
  }

  // A path, absolute or from the submitter's directory ("./checkpoints"), or the mount path of a volume.
  [[nodiscard]] std::string directory_of(const Sourced<std::string>& volume) const {
    if (volume->starts_with("./")) {
      std::string path = context_.submitter.directory + volume->substr(1);
      if (is_absolute_path(path)) return path;
    }
    if (volume->starts_with("/") || volume->starts_with("./")) {
      if (is_absolute_path(volume.value)) return volume.value;
      context_.error(volume.place, fmt::format("{} is not a valid path", in_backticks(volume.value)),
                     "leave out `..` and control characters", volume->size());
      return {};
    }
    for (const model::JobMountSpec& mount : job_.mounts.value) {
      if (mount.volume.value == volume.value) return mount.path.value;
    }
    if (const model::VolumeSpec* known = volume_named(context_.cluster, volume.value)) {
      return model::default_mount_path(context_.cluster.spec(), *known);
    }
    std::vector<std::string_view> names;
    for (const model::StorageSpec& system : context_.cluster.spec().storage.value) {
      for (const model::VolumeSpec& each : system.volumes.value) names.push_back(each.name->text);
    }
    context_.error(volume.place, fmt::format("unknown volume {}", in_backticks(volume.value)),
                   did_you_mean(volume.value, names), volume->size());
    return {};
  }

  void set_checkpoint() {
    const model::JobCheckpointSpec& section = job_.checkpoint.value;
    std::vector<std::string> volumes;
    if (section.volumes.has_value()) {
      for (const Sourced<std::string>& volume : section.volumes.value) volumes.push_back(directory_of(volume));
    } else {
      volumes = mounted_volumes();
    }
    set_checkpoints(draft_, context_, std::move(volumes));
    control::CheckpointPolicy& policy = draft_.spec.checkpoint;
    if (section.interval.has_value()) {
      policy.interval = section.interval.value;
      if (!policy.volumes.empty()) draft_.spec.shape.checkpoint_interval = policy.interval;
      if (policy.interval.count() == 0) context_.error(section.interval.place, "the checkpoint interval is zero");
    }
    policy.notice = notice_of(section.notice.value);
    policy.notice_signal = number_of(section.signal.value);
    draft_.spec.shape.checkpoint_on_notice =
        policy.notice != control::CheckpointNotice::none && !policy.volumes.empty();
    if (section.signal.from_file() && policy.notice != control::CheckpointNotice::signal) {
      context_.error(section.signal.place, "`signal` has no effect without `notice: signal`");
    }
    if (policy.notice != control::CheckpointNotice::none && policy.volumes.empty()) {
      context_.error(section.notice.place, "the job is asked for checkpoints but has no volume to write them to",
                     "set `volumes`");
    }
  }

  void set_restarts() {
    const model::JobRestartSpec& section = job_.restart.value;
    control::RestartPolicy& policy = draft_.spec.restart;
    const std::int64_t failures =
        section.max_failures.has_value() ? section.max_failures.value : job_.max_restarts.value;
    policy.max_failures = static_cast<std::int32_t>(failures);
    policy.on_success_only = keys_.failure_final;
    policy.backoff = section.backoff.value;
    policy.max_backoff = std::max(policy.max_backoff, policy.backoff);
    if (policy.backoff < kMinBackoff) context_.error(section.backoff.place, "the backoff is shorter than 100 ms");
  }

  model::JobSpec job_;
  RunKeys keys_;
  const SubmitContext& context_;
  JobDraft draft_;
};

}  // namespace

std::optional<JobDraft> read_weft_job(const SubmitContext& context) {
  std::optional<YamlNode> root = parse_yaml(context.sources, context.file, context.diagnostics);
  if (!root) return std::nullopt;
  const RunKeys keys = take_run_keys(context, *root);
  std::optional<model::JobSpec> job = model::read_job(*root, context.diagnostics);
  if (!job) return std::nullopt;
  return WeftJobReader(std::move(*job), keys, context).read();
}

}  // namespace weft::serve
