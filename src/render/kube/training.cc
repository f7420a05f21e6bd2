// The target `kubernetes/training`: each job file as PyTorchJob, TrainJob or Indexed Job. They are alternatives: apply
// one of them.
#include <fmt/format.h>

#include <algorithm>

#include "render/core/targets.h"
#include "render/kube/training_pod.h"

namespace weft::render {
namespace {

using kube_training::kRendezvousPort;
using kube_training::PodForm;
using kube_training::TrainingPod;

constexpr std::int64_t kKeepSeconds = 86'400;  // finished jobs are kept for a day, for debugging
// Exit codes for which a retry does not help: wrong usage (sh, argparse), not executable, not found.
constexpr std::int64_t kHopeless[] = {2, 126, 127};
constexpr std::string_view kIndexPath = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

bool wants(const RenderInput& input, std::string_view form) {
  const std::string_view chosen = input.options["job"];
  return chosen == "all" || chosen == form;
}

// How many pods may fail before the job does: each as often as its ranks may be restarted.
std::int64_t backoff_limit(const model::JobSpec& job) {
  return std::min<std::int64_t>(1'000'000, job.max_restarts.value * job.nodes.value);
}

std::vector<Value> pytorch_job(const TrainingPod& pod) {
  const model::JobSpec& job = pod.job();
  const std::string host = pod.name() + "-worker-0";
  const PodForm form{.container = "pytorch",
                     .index_path = "metadata.labels['training.kubeflow.org/replica-index']",
                     .rendezvous = fmt::format("{}:{}", host, kRendezvousPort),
                     .restart = ""};
  Value policy = Value::map(
      {{"cleanPodPolicy", "Running"}, {"backoffLimit", backoff_limit(job)}, {"ttlSecondsAfterFinished", kKeepSeconds}});
  if (pod.deadline_seconds() > 0) policy.set("activeDeadlineSeconds", pod.deadline_seconds());
  Value worker =
      Value::map({{"replicas", job.nodes.value},
                  {"restartPolicy", "OnFailure"},
                  {"template", Value::map({{"metadata", pod.template_metadata()}, {"spec", pod.spec(form)}})}});
  Value spec = Value::map({{"nprocPerNode", std::to_string(job.gpus_per_node.value)},
                           {"elasticPolicy", Value::map({{"minReplicas", job.min_nodes.value},
                                                         {"maxReplicas", job.nodes.value},
                                                         {"maxRestarts", job.max_restarts.value},
                                                         {"rdzvBackend", "c10d"},
                                                         {"rdzvHost", host},
                                                         {"rdzvPort", kRendezvousPort},
                                                         {"rdzvId", pod.name()}})},
                           {"runPolicy", std::move(policy)},
                           {"pytorchReplicaSpecs", Value::map({{"Worker", std::move(worker)}})}});
  return {pod.rank_config_map(), Value::map({{"apiVersion", "kubeflow.org/v1"},
                                             {"kind", "PyTorchJob"},
                                             {"metadata", pod.metadata(pod.name(), true)},
                                             {"spec", std::move(spec)}})};
}

// A runtime for this job: TrainJob's patches cannot set the image of an init container or the scheduler.
std::vector<Value> train_job(const TrainingPod& pod) {
  const model::JobSpec& job = pod.job();
  // JobSet names pods <job>-<replicated job>-<n>-<index> below a service of its own name.
  const PodForm form{.container = "node",
                     .index_path = kIndexPath,
                     .rendezvous = fmt::format("{0}-node-0-0.{0}:{1}", pod.name(), kRendezvousPort),
                     .restart = "OnFailure"};
  Value node_job =
      Value::map({{"backoffLimit", backoff_limit(job)},
                  {"template", Value::map({{"metadata", pod.template_metadata()}, {"spec", pod.spec(form)}})}});
  Value node = Value::map(
      {{"name", "node"},
       {"template",
        Value::map({{"metadata", Value::map({{"labels", Value::map({{"trainer.kubeflow.org/trainjob-ancestor-step",
                                                                     "trainer"}})}})},
                    {"spec", std::move(node_job)}})}});
  Value runtime = Value::map(
      {{"mlPolicy", Value::map({{"numNodes", job.nodes.value},
                                {"torch", Value::map({{"numProcPerNode", job.gpus_per_node.value}})}})},
       {"template",
        Value::map({{"spec", Value::map({{"failurePolicy", Value::map({{"maxRestarts", job.max_restarts.value}})},
                                         {"replicatedJobs", Value::list({std::move(node)})}})}})}});
  Value trainer = Value::map({{"image", job.image.value},
                              {"command", pod.command(form)},
                              {"env", pod.environment()},
                              {"numNodes", job.nodes.value},
                              {"numProcPerNode", job.gpus_per_node.value},
                              {"resourcesPerNode", pod.resources()}});
  Value spec = Value::map(
      {{"runtimeRef",
        Value::map({{"apiGroup", "trainer.kubeflow.org"}, {"kind", "TrainingRuntime"}, {"name", pod.name()}})},
       {"trainer", std::move(trainer)}});
  if (pod.deadline_seconds() > 0) spec.set("activeDeadlineSeconds", pod.deadline_seconds());
  Value runtime_labels = pod.metadata(pod.name(), false);
  runtime_labels["labels"].set("trainer.kubeflow.org/framework", "torch");
  return {pod.rank_config_map(),
          Value::map({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                      {"kind", "TrainingRuntime"},
                      {"metadata", std::move(runtime_labels)},
                      {"spec", std::move(runtime)}}),
          Value::map({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                      {"kind", "TrainJob"},
                      {"metadata", pod.metadata(pod.name(), true)},
                      {"spec", std::move(spec)}})};
}

Value failure_policy() {
  Value hopeless = Value::list();
  for (const std::int64_t status : kHopeless) hopeless.add(status);
  Value drained =
      Value::map({{"action", "Ignore"},  // drained or preempted: not a failure of the job
                  {"onPodConditions", Value::list({Value::map({{"type", "DisruptionTarget"}, {"status", "True"}})})}});
  Value wrong =
      Value::map({{"action", "FailJob"},
                  {"onExitCodes",
                   Value::map({{"containerName", "trainer"}, {"operator", "In"}, {"values", std::move(hopeless)}})}});
  return Value::map({{"rules", Value::list({std::move(drained), std::move(wrong)})}});
}

std::vector<Value> indexed_job(const TrainingPod& pod) {
  const model::JobSpec& job = pod.job();
  const std::string service = pod.name() + "-rendezvous";
  // An Indexed Job's pods have the host name <job>-<index>; subdomain and service make it a name in DNS.
  const PodForm form{.container = "trainer",
                     .index_path = kIndexPath,
                     .rendezvous = fmt::format("{}-0.{}:{}", pod.name(), service, kRendezvousPort),
                     .restart = "Never"};  // a podFailurePolicy allows nothing else
  Value pod_spec = pod.spec(form);
  pod_spec.set("subdomain", service);
  Value spec =
      Value::map({{"completionMode", "Indexed"},
                  {"completions", job.nodes.value},
                  {"parallelism", job.nodes.value},
                  {"backoffLimit", backoff_limit(job)},
                  {"podReplacementPolicy", "Failed"},  // the GPUs must be free first
                  {"podFailurePolicy", failure_policy()},
                  {"ttlSecondsAfterFinished", kKeepSeconds},
                  {"template", Value::map({{"metadata", pod.template_metadata()}, {"spec", std::move(pod_spec)}})}});
  if (pod.deadline_seconds() > 0) spec.set("activeDeadlineSeconds", pod.deadline_seconds());
  Value ports = Value::list({Value::map({{"name", "rendezvous"}, {"port", kRendezvousPort}})});
  Value service_spec = Value::map({{"clusterIP", "None"},
                                   {"publishNotReadyAddresses", true},  // ranks connect before any is ready
                                   {"selector", Value::map({{"batch.kubernetes.io/job-name", pod.name()}})},
                                   {"ports", std::move(ports)}});
  return {pod.rank_config_map(),
          Value::map({{"apiVersion", "v1"},
                      {"kind", "Service"},
                      {"metadata", pod.metadata(service, false)},
                      {"spec", std::move(service_spec)}}),
          Value::map({{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", pod.metadata(pod.name(), true)},
                      {"spec", std::move(spec)}})};
}

void add_form(const RenderInput& input, const TrainingPod& pod, std::string_view form, std::string_view consumer,
              const std::vector<Value>& documents, FileSink& sink) {
  RenderedFile file;
  file.path = fmt::format("kubernetes/training/{}-{}.yaml", pod.name(), form);
  file.content = write_yaml(documents, heading(input.cluster, fmt::format("Job {} as {}. Apply only one kind per job.",
                                                                          pod.name(), consumer)));
  file.device = pod.job().pool.value;
  file.consumer = consumer;
  file.apply = fmt::format("kubectl apply -f {}-{}.yaml", pod.name(), form);
  file.stage = Stage::workloads;
  file.sources = {"workload", "tenants", "partitions", "storage", "fabrics.backend"};
  sink.add(std::move(file));
}

}  // namespace

bool applies_kube_training(const RenderInput& input) {
  return input.plan.has_kubernetes() && !input.jobs.empty() &&
         (wants(input, "pytorchjob") || wants(input, "trainjob") || wants(input, "indexed"));
}

void render_kube_training(const RenderInput& input, FileSink& sink) {
  for (const model::JobSpec& job : input.jobs) {
    const PoolPlan* pool = input.plan.pool(job.pool.value);
    if (pool == nullptr || !pool->has_gpus() || !input.plan.in_kubernetes(*pool)) {
      sink.note(fmt::format("job {} is not rendered for Kubernetes: pool {} is not in Kubernetes", job.name->text,
                            job.pool.value));
      continue;
    }
    const TrainingPod pod(input, job, *pool);
    if (wants(input, "pytorchjob")) add_form(input, pod, "pytorchjob", "PyTorchJob", pytorch_job(pod), sink);
    if (wants(input, "trainjob")) add_form(input, pod, "trainjob", "TrainJob", train_job(pod), sink);
    if (wants(input, "indexed")) add_form(input, pod, "indexed", "Indexed Job", indexed_job(pod), sink);
  }
  sink.note(
      "no NCCL topology file is rendered for jobs: its PCI addresses are known only on the servers; NCCL reads them "
      "from sysfs, also in pods");
}

}  // namespace weft::render
