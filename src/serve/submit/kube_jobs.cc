#include "serve/submit/kube_jobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "serve/submit/kube_pod.h"

namespace weft::serve {
namespace {

constexpr FieldUse kIgnored = FieldUse::ignored;
constexpr FieldUse kRefused = FieldUse::refused;
constexpr std::int64_t kMaxSeconds = 100LL * 366 * 86'400;
constexpr std::int64_t kMaxFailures = 1'000'000;
constexpr std::int64_t kDefaultBackoffLimit = 6;  // of a batch/v1 Job

constexpr FieldRule kPyTorchFields[] = {{"elasticPolicy"}, {"nprocPerNode"}, {"pytorchReplicaSpecs"}, {"runPolicy"}};
constexpr FieldRule kRoleFields[] = {{"Master"}, {"Worker"}};
constexpr FieldRule kReplicaFields[] = {{"replicas"}, {"restartPolicy"}, {"template"}};
constexpr FieldRule kElasticFields[] = {{"maxReplicas"},
                                        {"maxRestarts"},
                                        {"metrics", kRefused, "weft grows and shrinks jobs by free capacity"},
                                        {"minReplicas"},
                                        {"nProcPerNode"},
                                        {"rdzvBackend", kIgnored},
                                        {"rdzvConf", kIgnored},
                                        {"rdzvHost", kIgnored},
                                        {"rdzvId", kIgnored},
                                        {"rdzvPort", kIgnored},
                                        {"standalone", kIgnored}};
constexpr FieldRule kRunFields[] = {
    {"activeDeadlineSeconds"}, {"backoffLimit"}, {"cleanPodPolicy", kIgnored},         {"managedBy", kIgnored},
    {"schedulingPolicy"},      {"suspend"},      {"ttlSecondsAfterFinished", kIgnored}};
constexpr FieldRule kSchedulingFields[] = {
    {"minAvailable"}, {"minResources", kIgnored}, {"priorityClass"}, {"queue"}, {"scheduleTimeoutSeconds", kIgnored}};
constexpr FieldRule kTrainFields[] = {{"activeDeadlineSeconds"},
                                      {"annotations", kIgnored},
                                      {"initializer", kRefused, "the dataset and model would not be downloaded"},
                                      {"labels", kIgnored},
                                      {"managedBy", kIgnored},
                                      {"podSpecOverrides", kRefused, "there is no pod"},
                                      {"podTemplateOverrides", kRefused, "there is no pod"},
                                      {"runtimeRef"},
                                      {"suspend"},
                                      {"trainer"}};
constexpr FieldRule kTrainerFields[] = {{"args"},           {"command"},         {"env"}, {"image"}, {"numNodes"},
                                        {"numProcPerNode"}, {"resourcesPerNode"}};
constexpr FieldRule kIndexedFields[] = {{"activeDeadlineSeconds"},
                                        {"backoffLimit"},
                                        {"backoffLimitPerIndex"},
                                        {"completionMode"},
                                        {"completions"},
                                        {"managedBy", kIgnored},
                                        {"manualSelector", kIgnored},
                                        {"maxFailedIndexes", kRefused, "a job fails as a whole"},
                                        {"parallelism"},
                                        {"podFailurePolicy"},
                                        {"podReplacementPolicy", kIgnored},
                                        {"selector", kIgnored},
                                        {"successPolicy", kRefused, "a job succeeds if all its tasks do"},
                                        {"suspend"},
                                        {"template"},
                                        {"ttlSecondsAfterFinished", kIgnored}};

void read_suspend(const SubmitContext& context, const YamlNode* node) {
  if (read_boolean(context, node, "suspend").value_or(false)) {
    context.error(node->place, "a suspended job is not supported", "hold the job after submitting it");
  }
}

void read_deadline(const SubmitContext& context, const YamlNode* node, JobDraft& draft) {
  constexpr std::int64_t kMinute = 60;  // the resolution of time limits
  const auto seconds = read_integer(context, node, "activeDeadlineSeconds", 1, kMaxSeconds);
  if (!seconds) return;
  draft.time_limit = given_at(sched::seconds((*seconds + kMinute - 1) / kMinute * kMinute), node->place);
}

// Every pod of a gang fails when one does, and each counts.
void set_failures(JobDraft& draft, std::int64_t pod_failures) {
  draft.spec.restart.max_failures = static_cast<std::int32_t>(
      std::min<std::int64_t>(pod_failures / std::max<std::int64_t>(1, draft.nodes.value), 1000));
}

void set_default_failures(const SubmitContext& context, JobDraft& draft) {
  draft.spec.restart.max_failures = static_cast<std::int32_t>(context.cluster.spec().workload->max_restarts.value);
}

// A number, or a word that means one process per GPU; 0 for that.
std::int64_t read_processes(const SubmitContext& context, const YamlNode* node, std::string_view what) {
  const std::optional<std::string> text = read_text(context, node, what);
  if (!text || *text == "auto" || *text == "gpu") return 0;
  return read_count(context, *text, what, 1, 1000, node->place).value_or(0);
}

class PyTorchJobReader {
 public:
  PyTorchJobReader(const SubmitContext& context, JobDraft& draft) : context_(context), draft_(draft) {}

  void read(const YamlNode& spec) {
    if (!check_fields(context_, spec, "PyTorchJob", kPyTorchFields)) return;
    std::int64_t processes = read_processes(context_, field_of(&spec, "nprocPerNode"), "nprocPerNode");
    read_replicas(spec);
    draft_.nodes = given_at(masters_ + workers_, replicas_place_);
    set_default_failures(context_, draft_);
    if (const YamlNode* run = field_of(&spec, "runPolicy")) read_run_policy(*run);
    if (const YamlNode* elastic = field_of(&spec, "elasticPolicy")) {
      const std::int64_t own = read_elastic(*elastic);
      if (processes == 0) processes = own;
    }
    check_gang();
    if (pod_) apply_pod(context_, std::move(*pod_), processes, draft_);
  }

 private:
  void read_replicas(const YamlNode& spec) {
    const YamlNode* roles = field_of(&spec, "pytorchReplicaSpecs");
    if (roles == nullptr) return context_.error(spec.place, "the job has no `pytorchReplicaSpecs`");
    replicas_place_ = roles->place;
    if (!check_fields(context_, *roles, "pytorchReplicaSpecs", kRoleFields)) return;
    masters_ = read_role(field_of(roles, "Master"), "Master", 1);
    workers_ = read_role(field_of(roles, "Worker"), "Worker", sched::kMaxTasks);
    if (masters_ + workers_ == 0) context_.error(roles->place, "the job has no replicas");
  }

  std::int64_t read_role(const YamlNode* role, std::string_view name, std::int64_t high) {
    if (role == nullptr || !check_fields(context_, *role, name, kReplicaFields)) return 0;
    const YamlNode* replicas = field_of(role, "replicas");
    const std::int64_t count = read_integer(context_, replicas, "replicas", 0, high).value_or(1);
    if (replicas != nullptr) replicas_place_ = replicas->place;
    read_restart_policy(field_of(role, "restartPolicy"));
    const YamlNode* pod_template = field_of(role, "template");
    if (pod_template == nullptr) {
      context_.error(role->place, fmt::format("{} has no `template`", name));
      return count;
    }
    if (count == 0) return 0;
    KubePod pod = read_pod_template(context_, *pod_template);
    if (!pod_) {
      pod_ = std::move(pod);
    } else if (const std::string difference = find_difference(*pod_, pod); !difference.empty()) {
      context_.error(pod.place,
                     fmt::format("Master and Worker differ in `{}`, but the tasks of a job are equal", difference));
    }
    return count;
  }

  void read_restart_policy(const YamlNode* node) {
    const std::optional<std::string> policy = read_text(context_, node, "restartPolicy");
    if (!policy || *policy == "OnFailure" || *policy == "Always") return;
    if (*policy == "Never") {
      draft_.spec.restart.on_success_only = true;
    } else if (*policy == "ExitCode") {
      context_.warn(node->place, "the job is restarted after every failure, whatever its exit code", {},
                    policy->size());
    } else {
      context_.error(node->place, fmt::format("unknown restart policy {}", in_backticks(*policy)),
                     "one of Always, ExitCode, Never and OnFailure", policy->size());
    }
  }

  void read_run_policy(const YamlNode& run) {
    if (!check_fields(context_, run, "runPolicy", kRunFields)) return;
    read_suspend(context_, field_of(&run, "suspend"));
    read_deadline(context_, field_of(&run, "activeDeadlineSeconds"), draft_);
    const auto limit = read_integer(context_, field_of(&run, "backoffLimit"), "backoffLimit", 0, kMaxFailures);
    if (limit) set_failures(draft_, *limit);
    const YamlNode* scheduling = field_of(&run, "schedulingPolicy");
    if (scheduling == nullptr || !check_fields(context_, *scheduling, "schedulingPolicy", kSchedulingFields)) return;
    set_name(field_of(scheduling, "queue"), "queue", draft_.tenant);
    set_name(field_of(scheduling, "priorityClass"), "priorityClass", draft_.priority);
    gang_ = field_of(scheduling, "minAvailable");
  }

  void set_name(const YamlNode* node, std::string_view what, Sourced<std::string>& out) {
    const std::optional<std::string> text = read_text(context_, node, what);
    if (text && !out.has_value()) out = given_at(*text, node->place);
  }

  // The number of processes per node, or 0.
  std::int64_t read_elastic(const YamlNode& elastic) {
    if (!check_fields(context_, elastic, "elasticPolicy", kElasticFields)) return 0;
    const YamlNode* most = field_of(&elastic, "maxReplicas");
    const YamlNode* least = field_of(&elastic, "minReplicas");
    const std::int64_t workers = read_integer(context_, most, "maxReplicas", 1, sched::kMaxTasks).value_or(workers_);
    const std::int64_t fewest = read_integer(context_, least, "minReplicas", 1, sched::kMaxTasks).value_or(workers);
    if (most != nullptr) draft_.nodes = given_at(masters_ + workers, most->place);
    if (fewest < workers) {
      draft_.min_nodes = given_at(masters_ + fewest, least->place);
    } else if (fewest > workers) {
      context_.error(least->place, fmt::format("minReplicas ({}) is above maxReplicas ({})", fewest, workers));
    }
    const auto restarts = read_integer(context_, field_of(&elastic, "maxRestarts"), "maxRestarts", 0, 1000);
    if (restarts) draft_.spec.restart.max_failures = static_cast<std::int32_t>(*restarts);
    return read_processes(context_, field_of(&elastic, "nProcPerNode"), "nProcPerNode");
  }

  void check_gang() {
    const auto gang = read_integer(context_, gang_, "minAvailable", 0, sched::kMaxTasks);
    const std::int64_t fewest = draft_.min_nodes.has_value() ? draft_.min_nodes.value : draft_.nodes.value;
    if (!gang || *gang >= fewest) return;
    context_.warn(gang_->place, fmt::format("the job starts with at least {} nodes, not {}", fewest, *gang),
                  "set elasticPolicy for a job that can run with fewer");
  }

  const SubmitContext& context_;
  JobDraft& draft_;
  std::optional<KubePod> pod_;
  std::int64_t masters_ = 0;
  std::int64_t workers_ = 0;
  SourceLocation replicas_place_;
  const YamlNode* gang_ = nullptr;
};

class TrainJobReader {
 public:
  TrainJobReader(const SubmitContext& context, JobDraft& draft) : context_(context), draft_(draft) {}

  void read(const YamlNode& spec, const YamlNode* runtime) {
    if (!check_fields(context_, spec, "TrainJob", kTrainFields)) return;
    read_suspend(context_, field_of(&spec, "suspend"));
    read_deadline(context_, field_of(&spec, "activeDeadlineSeconds"), draft_);
    set_default_failures(context_, draft_);
    KubePod pod;
    pod.place = pod.command_place = spec.place;
    if (runtime != nullptr) {
      read_runtime(*runtime, pod);
    } else if (const YamlNode* reference = field_of(&spec, "runtimeRef")) {
      context_.warn(reference->place, "the training runtime is not read: only this file is",
                    "put it into this file if it sets variables, volumes or restarts");
    }
    if (const YamlNode* trainer = field_of(&spec, "trainer")) read_trainer(*trainer, pod);
    apply_pod(context_, std::move(pod), processes_, draft_);
  }

 private:
  void set_nodes(const YamlNode* node) {
    if (const auto nodes = read_integer(context_, node, "numNodes", 1, sched::kMaxTasks)) {
      draft_.nodes = given_at(*nodes, node->place);
    }
  }

  void read_trainer(const YamlNode& trainer, KubePod& pod) {
    if (!check_fields(context_, trainer, "trainer", kTrainerFields)) return;
    set_nodes(field_of(&trainer, "numNodes"));
    if (const YamlNode* processes = field_of(&trainer, "numProcPerNode")) {
      processes_ = read_processes(context_, processes, "numProcPerNode");
    }
    if (const YamlNode* command = field_of(&trainer, "command")) {
      pod.command = read_texts(context_, command, "command");
      pod.command_place = command->place;
      pod.arguments.clear();
    }
    if (const YamlNode* arguments = field_of(&trainer, "args")) {
      pod.arguments = read_texts(context_, arguments, "args");
    }
    const YamlNode* image = field_of(&trainer, "image");
    if (const auto text = read_text(context_, image, "image")) pod.image = given_at(*text, image->place);
    read_container_environment(context_, field_of(&trainer, "env"), pod);
    read_container_resources(context_, field_of(&trainer, "resourcesPerNode"), pod);
  }

  // The job of a TrainingRuntime whose pods run the training: the one named `node`, or marked as the trainer.
  void read_runtime(const YamlNode& runtime, KubePod& pod) {
    const YamlNode* spec = field_of(&runtime, "spec");
    const YamlNode* policy = field_of(spec, "mlPolicy");
    set_nodes(field_of(policy, "numNodes"));
    processes_ = read_processes(context_, field_of(field_of(policy, "torch"), "numProcPerNode"), "numProcPerNode");
    const YamlNode* jobs = field_of(field_of(spec, "template"), "spec");
    const auto restarts =
        read_integer(context_, field_of(field_of(jobs, "failurePolicy"), "maxRestarts"), "maxRestarts", 0, 1000);
    if (restarts) draft_.spec.restart.max_failures = static_cast<std::int32_t>(*restarts);
    const std::span<const YamlNode> items = read_items(context_, field_of(jobs, "replicatedJobs"), "replicatedJobs");
    for (const YamlNode& item : items) {
      const YamlNode* name = field_of(&item, "name");
      const bool is_trainer = name != nullptr && (name->scalar == "node" || name->scalar == "trainer-node");
      if (!is_trainer && items.size() > 1) {
        context_.error(item.place, "another job of the training runtime would not run");
        continue;
      }
      const YamlNode* pod_template = field_of(field_of(field_of(&item, "template"), "spec"), "template");
      if (pod_template != nullptr) pod = read_pod_template(context_, *pod_template);
    }
  }

  const SubmitContext& context_;
  JobDraft& draft_;
  std::int64_t processes_ = 0;
};

class IndexedJobReader {
 public:
  IndexedJobReader(const SubmitContext& context, JobDraft& draft) : context_(context), draft_(draft) {}

  void read(const YamlNode& spec) {
    if (!check_fields(context_, spec, "Job", kIndexedFields)) return;
    read_suspend(context_, field_of(&spec, "suspend"));
    read_deadline(context_, field_of(&spec, "activeDeadlineSeconds"), draft_);
    read_size(spec);
    const auto per_index =
        read_integer(context_, field_of(&spec, "backoffLimitPerIndex"), "backoffLimitPerIndex", 0, 1000);
    const auto limit = read_integer(context_, field_of(&spec, "backoffLimit"), "backoffLimit", 0, kMaxFailures);
    if (per_index) {
      draft_.spec.restart.max_failures = static_cast<std::int32_t>(*per_index);
    } else {
      set_failures(draft_, limit.value_or(kDefaultBackoffLimit));
    }
    // Kubernetes marks the Job as failed then: no user expects to have to release it.
    draft_.spec.restart.on_success_only = !per_index && limit == 0;
    if (const YamlNode* policy = field_of(&spec, "podFailurePolicy")) read_failure_policy(*policy);
    const YamlNode* pod_template = field_of(&spec, "template");
    if (pod_template == nullptr) return context_.error(spec.place, "the job has no `template`");
    apply_pod(context_, read_pod_template(context_, *pod_template), 0, draft_);
  }

 private:
  void read_size(const YamlNode& spec) {
    const YamlNode* completions = field_of(&spec, "completions");
    const YamlNode* parallelism = field_of(&spec, "parallelism");
    const YamlNode* mode = field_of(&spec, "completionMode");
    const std::int64_t all = read_integer(context_, completions, "completions", 1, sched::kMaxTasks).value_or(1);
    const std::int64_t together = read_integer(context_, parallelism, "parallelism", 1, sched::kMaxTasks).value_or(1);
    const SourceLocation place = completions != nullptr ? completions->place : spec.place;
    draft_.nodes = given_at(all, place);
    if (all != together) {
      context_.error(parallelism != nullptr ? parallelism->place : place,
                     fmt::format("completions ({}) and parallelism ({}) differ, but all tasks of a job run together",
                                 all, together));
    }
    const std::string text = read_text(context_, mode, "completionMode").value_or("NonIndexed");
    if (text != "Indexed" && (text != "NonIndexed" || all > 1)) {
      context_.error(mode != nullptr ? mode->place : place, "tasks of a job need an index",
                     "`completionMode: Indexed`");
    }
  }

  // A drained or preempted pod is not a failure here either; exit codes are not told apart.
  void read_failure_policy(const YamlNode& policy) {
    for (const YamlNode& rule : read_items(context_, field_of(&policy, "rules"), "rules")) {
      if (field_of(&rule, "onPodConditions") != nullptr) continue;
      context_.warn(rule.place, "the job is restarted after every failure, whatever its exit code",
                    fmt::format("at most {} times", draft_.spec.restart.max_failures));
    }
  }

  const SubmitContext& context_;
  JobDraft& draft_;
};

constexpr KubeJobKind kKinds[] = {
    {"PyTorchJob", "kubeflow.org/v1",
     [](const SubmitContext& context, const YamlNode& spec, const YamlNode* /*runtime*/, JobDraft& draft) {
       PyTorchJobReader(context, draft).read(spec);
     }},
    {"TrainJob", "trainer.kubeflow.org/v1alpha1",
     [](const SubmitContext& context, const YamlNode& spec, const YamlNode* runtime, JobDraft& draft) {
       TrainJobReader(context, draft).read(spec, runtime);
     }},
    {"Job", "batch/v1",
     [](const SubmitContext& context, const YamlNode& spec, const YamlNode* /*runtime*/, JobDraft& draft) {
       IndexedJobReader(context, draft).read(spec);
     }},
};

}  // namespace

std::span<const KubeJobKind> kube_job_kinds() { return kKinds; }

}  // namespace weft::serve
