#include "render/kube/training_pod.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/asset.h"
#include "base/text.h"
#include "render/kube/object.h"

namespace weft::render::kube_training {
namespace {

constexpr std::size_t kLongestLabel = 63;
// Reserved for the kubelet, the operators' pods and the page cache.
constexpr std::int64_t kCorePercent = 90;
constexpr std::int64_t kMemoryPercent = 85;
constexpr std::string_view kSlurmJob = "slurmjob.slinky.slurm.net/";  // slurm-bridge's annotations

// Kubernetes expands $(NAME) in commands and variables; doubled, it stays literal.
std::string literal(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '$' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == '$')) out += '$';
  }
  return out;
}

bool is_kubernetes_owner(const RenderInput& input) {
  return input.cluster.spec().control_plane->allocator.value == model::Allocator::kubernetes;
}

std::string gpu_resource(const PoolPlan& pool) {
  return pool.gpu->vendor.value == "AMD" ? "amd.com/gpu" : "nvidia.com/gpu";
}

std::string interfaces(const PoolPlan& pool, model::FabricKind fabric) {
  std::string list;
  for (const RailPlan& rail : pool.rails) {
    if (rail.fabric == fabric) list += (list.empty() ? "" : " ") + rail.pod_interface;
  }
  return list;
}

Value variable(std::string_view name, std::string_view value) { return Value::map({{"name", name}, {"value", value}}); }

Value container_security() {
  return Value::map({{"privileged", false},
                     {"allowPrivilegeEscalation", false},
                     {"capabilities", Value::map({{"drop", Value::list({"ALL"})}, {"add", Value::list({"IPC_LOCK"})}})},
                     {"seccompProfile", Value::map({{"type", "RuntimeDefault"}})}});
}

std::string gibibytes(std::int64_t bytes) { return fmt::format("{}Gi", std::max<std::int64_t>(1, bytes >> 30)); }

}  // namespace

std::string dns_label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char small = to_lower(c);
    out += is_letter_or_digit(small) ? small : '-';
  }
  out.resize(std::min(out.size(), kLongestLabel));
  while (!out.empty() && out.back() == '-') out.pop_back();
  out.erase(0, std::min(out.find_first_not_of('-'), out.size()));
  return out;
}

std::string_view rank_script() { return asset<"render/kube/ranks.sh">(); }

TrainingPod::TrainingPod(const RenderInput& input, const model::JobSpec& job, const PoolPlan& pool)
    : input_(input), job_(job), pool_(pool) {}

std::string TrainingPod::space() const { return job_.tenant.has_value() ? dns_label(job_.tenant.value) : "default"; }

std::string TrainingPod::queue_name() const { return dns_label(job_.tenant.value); }

std::string TrainingPod::rank_map() const { return name() + "-ranks"; }

std::int64_t TrainingPod::deadline_seconds() const {
  return job_.time_limit.has_value() ? job_.time_limit->count() / 1'000'000'000 : 0;
}

Value TrainingPod::labels() const {
  return Value::map({{std::string(kServiceLabel), name()}, {"app.kubernetes.io/managed-by", "weft"}});
}

Value TrainingPod::metadata(const std::string& object_name, bool queued) const {
  Value out = Value::map({{"name", object_name}, {"namespace", space()}, {"labels", labels()}});
  if (!queued) return out;
  if (is_kubernetes_owner(input_) && job_.tenant.has_value()) {
    out["labels"].set("kueue.x-k8s.io/queue-name", queue_name());
    if (job_.priority.has_value()) out["labels"].set("kueue.x-k8s.io/priority-class", dns_label(job_.priority.value));
  }
  Value annotations = Value::map();
  add_slurm_annotations(annotations);
  if (!annotations.empty()) out.set("annotations", std::move(annotations));
  return out;
}

// slurm-bridge uses these to turn the pods into a Slurm job.
void TrainingPod::add_slurm_annotations(Value& annotations) const {
  if (input_.plan.pod_scheduler().empty()) return;
  const auto add = [&](std::string_view key, std::string_view value) {
    annotations.set(std::string(kSlurmJob) + std::string(key), value);
  };
  add("job-name", name());
  if (job_.tenant.has_value()) add("account", job_.tenant.value);
  if (job_.partition.has_value()) add("partition", job_.partition.value);
  if (job_.priority.has_value() && !input_.cluster.spec().tenants->empty()) add("qos", dns_label(job_.priority.value));
  if (const std::int64_t seconds = deadline_seconds(); seconds > 0) add("timelimit", std::to_string(seconds / 60));
}

Value TrainingPod::networks() const {
  Value list = Value::list();
  for (const RailPlan& rail : pool_.rails)
    list.add(Value::map({{"name", rail.attachment}, {"interface", rail.pod_interface}}));
  return list;
}

Value TrainingPod::template_metadata() const {
  Value annotations = Value::map({{"sidecar.istio.io/inject", "false"}});
  if (!pool_.rails.empty()) annotations.set("k8s.v1.cni.cncf.io/networks", write_json_line(networks()));
  // Servers of one unit if it has enough capacity, otherwise as few units as possible.
  const bool backend = !interfaces(pool_, model::FabricKind::backend).empty();
  if (is_kubernetes_owner(input_) && backend)
    annotations.set("kueue.x-k8s.io/podset-preferred-topology", std::string(kUnitLabel));
  add_slurm_annotations(annotations);
  return Value::map({{"labels", labels()}, {"annotations", std::move(annotations)}});
}

Value TrainingPod::environment() const {
  Environment all = input_.plan.environment(pool_, true);
  for (const auto& own : job_.environment.value) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == own.first; });
    if (same == all.end()) {
      all.emplace_back(own.first, own.second.value);
    } else {
      same->second = own.second.value;
    }
  }
  Value list = Value::list();
  for (const auto& [key, value] : all) list.add(variable(key, literal(value)));
  return list;
}

Value TrainingPod::resources() const {
  const model::ServerModel& server = *pool_.server;
  const std::int64_t gpus = job_.gpus_per_node.value;
  const auto share = [&](std::int64_t all, std::int64_t percent) {
    return multiply_divide(multiply_divide(all, percent, 100), gpus, server.gpus.value);
  };
  Value limits =
      Value::map({{gpu_resource(pool_), std::to_string(gpus)},
                  {"cpu", std::to_string(std::max<std::int64_t>(1, share(server.cores.value, kCorePercent)))},
                  {"memory", gibibytes(share(server.memory->count(), kMemoryPercent))}});
  for (const RailPlan& rail : pool_.rails) limits.set(std::string(kResourcePrefix) + rail.resource, "1");
  // Equal requests make the pod Guaranteed: whole cores close to its GPUs and NICs.
  return Value::map({{"limits", limits}, {"requests", limits}});
}

Value TrainingPod::command(const PodForm& form) const {
  Value list = Value::list({"torchrun"});
  list.add(elastic() ? fmt::format("--nnodes={}:{}", job_.min_nodes.value, job_.nodes.value)
                     : fmt::format("--nnodes={}", job_.nodes.value));
  list.add(fmt::format("--nproc_per_node={}", job_.gpus_per_node.value));
  list.add(fmt::format("--max_restarts={}", job_.max_restarts.value));
  list.add("--rdzv_backend=c10d");
  list.add(fmt::format("--rdzv_id={}", name()));
  list.add(fmt::format("--rdzv_endpoint={}", form.rendezvous));
  for (const std::string& word : job_.command.value) list.add(literal(word));
  if (job_.resume.has_value()) {
    list.add("--resume_from_checkpoint");
    list.add(literal(job_.resume.value));
  }
  return list;
}

Value TrainingPod::init_container(const PodForm& form) const {
  const std::string rails = interfaces(pool_, model::FabricKind::backend);
  const auto field = [](std::string_view variable_name, std::string_view path) {
    return Value::map(
        {{"name", variable_name}, {"valueFrom", Value::map({{"fieldRef", Value::map({{"fieldPath", path}})}})}});
  };
  Value small = Value::map({{"cpu", "1"}, {"memory", "1Gi"}});
  return Value::map(
      {{"name", "ranks"},
       {"image", job_.image.value},
       {"command", Value::list({"sh", "/opt/weft/ranks.sh"})},
       {"env", Value::list({field("WEFT_INDEX", form.index_path), field("WEFT_POD", "metadata.name"),
                            variable("WEFT_GPUS", std::to_string(job_.gpus_per_node.value)),
                            variable("WEFT_SERVER_GPUS", std::to_string(pool_.server->gpus.value)),
                            variable("WEFT_RAILS", rails.empty() ? "eth0" : rails),
                            variable("WEFT_STORAGE", interfaces(pool_, model::FabricKind::storage))})},
       {"resources", Value::map({{"limits", small}, {"requests", small}})},
       {"securityContext", Value::map({{"allowPrivilegeEscalation", false},
                                       {"capabilities", Value::map({{"drop", Value::list({"ALL"})}})},
                                       {"seccompProfile", Value::map({{"type", "RuntimeDefault"}})}})},
       {"volumeMounts",
        Value::list({Value::map({{"name", "rank-script"}, {"mountPath", "/opt/weft"}, {"readOnly", true}}),
                     Value::map({{"name", "ranks"}, {"mountPath", kRankFolder}})})}});
}

Value TrainingPod::mounts() const {
  Value list = Value::list();
  for (const model::JobMountSpec& mount : job_.mounts.value) {
    Value one = Value::map({{"name", "data-" + dns_label(mount.volume.value).substr(0, kLongestLabel - 5)},
                            {"mountPath", mount.path.value}});
    if (mount.read_only.value) one.set("readOnly", true);
    list.add(std::move(one));
  }
  list.add(Value::map({{"name", "shm"}, {"mountPath", "/dev/shm"}}));
  list.add(Value::map({{"name", "ranks"}, {"mountPath", kRankFolder}, {"readOnly", true}}));
  return list;
}

Value TrainingPod::volumes() const {
  Value list = Value::list();
  std::vector<std::string> seen;
  for (const model::JobMountSpec& mount : job_.mounts.value) {
    if (std::find(seen.begin(), seen.end(), mount.volume.value) != seen.end()) continue;
    seen.push_back(mount.volume.value);
    const std::string claim = dns_label(mount.volume.value);
    const bool reads_only =
        std::all_of(job_.mounts->begin(), job_.mounts->end(), [&](const model::JobMountSpec& other) {
          return other.volume.value != mount.volume.value || other.read_only.value;
        });
    Value source = Value::map({{"claimName", claim}});
    if (reads_only) source.set("readOnly", true);
    list.add(Value::map(
        {{"name", "data-" + claim.substr(0, kLongestLabel - 5)}, {"persistentVolumeClaim", std::move(source)}}));
  }
  list.add(Value::map(
      {{"name", "shm"},
       {"emptyDir",
        Value::map({{"medium", "Memory"}, {"sizeLimit", std::to_string(job_.shared_memory->count() >> 20) + "Mi"}})}}));
  list.add(Value::map({{"name", "ranks"}, {"emptyDir", Value::map({{"sizeLimit", "1Mi"}})}}));
  list.add(Value::map({{"name", "rank-script"}, {"configMap", Value::map({{"name", rank_map()}})}}));
  return list;
}

Value TrainingPod::main_container(const PodForm& form) const {
  return Value::map({{"name", form.container},
                     {"image", job_.image.value},
                     {"command", command(form)},
                     {"env", environment()},
                     {"ports", Value::list({Value::map({{"name", "rendezvous"}, {"containerPort", kRendezvousPort}})})},
                     {"resources", resources()},
                     {"securityContext", container_security()},
                     {"volumeMounts", mounts()}});
}

Value TrainingPod::spec(const PodForm& form) const {
  Value out = Value::map();
  if (!form.restart.empty()) out.set("restartPolicy", form.restart);
  if (!input_.plan.pod_scheduler().empty()) out.set("schedulerName", input_.plan.pod_scheduler());
  if (job_.priority.has_value()) out.set("priorityClassName", dns_label(job_.priority.value));
  out.set("nodeSelector", Value::map({{std::string(kPoolLabel), pool_.name()}}));
  if (Value list = kube::tolerations_of(pool_); !list.empty()) out.set("tolerations", std::move(list));
  // Ranks write a checkpoint on SIGTERM.
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t write = input_.cluster.spec().workload->checkpoint_time->count() / kSecond;
  out.set("terminationGracePeriodSeconds", std::max<std::int64_t>(30, write));
  out.set("automountServiceAccountToken", false);
  out.set("enableServiceLinks", false);
  out.set("initContainers", Value::list({init_container(form)}));
  out.set("containers", Value::list({main_container(form)}));
  out.set("volumes", volumes());
  return out;
}

Value TrainingPod::rank_config_map() const {
  return Value::map({{"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", metadata(rank_map(), false)},
                     {"data", Value::map({{"ranks.sh", asset<"render/kube/ranks.sh">()}})}});
}

}  // namespace weft::render::kube_training
