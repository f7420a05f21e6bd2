// kubernetes/inference: each service of the file as a Deployment with its Service, autoscaler, disruption budget and
// monitoring. Ingress is in kube/frontend.cc, network policy in kube/policy.cc.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "render/core/targets.h"
#include "render/kube/services.h"

namespace weft::render {
namespace {

using kube_services::add_manifest;
using kube_services::name_of;
using kube_services::object;
using kube_services::space_of;

constexpr std::string_view kFolder = "kubernetes/inference/";
constexpr std::int64_t kUser = 10001;  // an arbitrary unprivileged user; the image needs no root
constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int64_t kStartupSeconds = 1800;  // time to load the largest models from storage, with headroom
constexpr std::int64_t kStartupPeriod = 10;
constexpr std::int64_t kLeaveSeconds = 15;        // until gateways have removed a terminating replica
constexpr std::int64_t kNodeShare = 90;           // percent of a server for replicas; the rest is for the system
constexpr std::int64_t kSharedMemoryMib = 16384;  // maximum; NCCL and tensor-parallel workers use it

// Share of a server for each of the replicas that fit on it.
struct ReplicaShare {
  std::int64_t millicores = 1000;
  std::int64_t memory_mib = 1024;
};

std::int64_t replicas_per_server(const model::ServiceSpec& service, const PoolPlan& pool) {
  const std::int64_t gpus = std::max<std::int64_t>(1, pool.server->gpus.value);
  if (!service.mig.has_value()) {
    return std::max<std::int64_t>(1, gpus * pool.spec->time_slices.value / kube_services::amount_of(service));
  }
  std::int64_t instances = 0;
  for (const auto& [profile, count] : pool.spec->mig.value) instances += count.value;
  return std::max<std::int64_t>(1, gpus * instances * pool.spec->time_slices.value);
}

ReplicaShare share_of(const model::ServiceSpec& service, const PoolPlan& pool) {
  const std::int64_t replicas = replicas_per_server(service, pool);
  const std::int64_t millicores = pool.server->cores.value * 1000 * kNodeShare / 100 / replicas;
  // Whole cores can be pinned; with few cores, fractions waste less.
  return {std::max<std::int64_t>(100, millicores >= 4000 ? millicores / 1000 * 1000 : millicores / 100 * 100),
          std::max<std::int64_t>(1024, pool.server->memory->count() / kMib * kNodeShare / 100 / replicas)};
}

Value memory_text(std::int64_t mib) { return kube_services::quantity(Bytes(mib * kMib)); }

Value cores_text(std::int64_t millicores) {
  return millicores % 1000 == 0 ? std::to_string(millicores / 1000) : fmt::format("{}m", millicores);
}

// The call that a probe makes: the model's health endpoint, or only the port.
Value probe_action(const model::ServiceSpec& service) {
  if (service.probe.value == model::Probe::tcp) return Value::map({{"tcpSocket", Value::map({{"port", "http"}})}});
  return Value::map({{"httpGet", Value::map({{"path", "/health"}, {"port", "http"}})}});
}

void add_probes(const model::ServiceSpec& service, Value& container) {
  if (service.probe.value == model::Probe::none) return;
  container.set("startupProbe", probe_action(service)
                                    .set("periodSeconds", kStartupPeriod)
                                    .set("timeoutSeconds", 5)
                                    .set("failureThreshold", kStartupSeconds / kStartupPeriod));
  container.set("readinessProbe",
                probe_action(service).set("periodSeconds", 5).set("timeoutSeconds", 5).set("failureThreshold", 3));
  container.set("livenessProbe",
                probe_action(service).set("periodSeconds", 30).set("timeoutSeconds", 10).set("failureThreshold", 3));
}

Value resources_of(const model::ServiceSpec& service, const PoolPlan& pool) {
  const ReplicaShare share = share_of(service, pool);
  // Requests equal to limits: QoS class Guaranteed, evicted last, with dedicated cores.
  const Value amounts =
      Value::map({{"cpu", cores_text(share.millicores)},
                  {"memory", memory_text(share.memory_mib)},
                  {kube_services::resource_of(service, pool), std::to_string(kube_services::amount_of(service))}});
  return Value::map({{"requests", amounts}, {"limits", amounts}});
}

Value variable(std::string_view name, std::string_view value) { return Value::map({{"name", name}, {"value", value}}); }

// The first dataset volume of the file that tenants have a claim on, with one folder per model; null if there is none.
const model::VolumeSpec* model_volume(const RenderInput& input) {
  for (const model::StorageSpec& system : input.cluster.spec().storage.value) {
    if (system.kind.value == model::StorageKind::object) continue;
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.purpose.value == model::VolumePurpose::dataset && volume.size.has_value()) return &volume;
    }
  }
  return nullptr;
}

Value container_of(const model::ServiceSpec& service, const PoolPlan& pool) {
  Value args = Value::list({"--model", "/models/" + name_of(service), "--served-model-name", name_of(service), "--host",
                            "0.0.0.0", "--port", std::to_string(service.port.value)});
  if (kube_services::amount_of(service) > 1) {
    args.add("--tensor-parallel-size");
    args.add(std::to_string(kube_services::amount_of(service)));
  }
  Value container = Value::map({
      {"name", "vllm"},
      {"image", service.image.value},
      {"args", std::move(args)},
      {"env",
       Value::list({variable("HOME", "/tmp"), variable("HF_HUB_OFFLINE", "1"), variable("VLLM_NO_USAGE_STATS", "1")})},
      {"ports",
       Value::list({Value::map({{"name", "http"}, {"containerPort", service.port.value}, {"protocol", "TCP"}})})},
      {"resources", resources_of(service, pool)},
  });
  add_probes(service, container);
  container.set("lifecycle",
                Value::map({{"preStop", Value::map({{"sleep", Value::map({{"seconds", kLeaveSeconds}})}})}}));
  container.set("securityContext", Value::map({{"allowPrivilegeEscalation", false},
                                               {"readOnlyRootFilesystem", true},
                                               {"capabilities", Value::map({{"drop", Value::list({"ALL"})}})}}));
  container.set("volumeMounts",
                Value::list({Value::map({{"name", "models"}, {"mountPath", "/models"}, {"readOnly", true}}),
                             Value::map({{"name", "scratch"}, {"mountPath", "/tmp"}}),
                             Value::map({{"name", "shm"}, {"mountPath", "/dev/shm"}})}));
  return container;
}

Value volumes_of(const RenderInput& input, const model::ServiceSpec& service, const PoolPlan& pool) {
  // Claims are in the tenants' namespaces.
  const model::VolumeSpec* volume = service.tenant.has_value() ? model_volume(input) : nullptr;
  Value models = Value::map({{"name", "models"}});
  if (volume != nullptr) {
    models.set("persistentVolumeClaim",
               Value::map({{"claimName", kube_services::label_name(volume->name->text)}, {"readOnly", true}}));
  } else {
    const std::string& registry = input.cluster.spec().security->registry.value;
    models.set("image", Value::map({{"reference", fmt::format("{}/models/{}:v1", registry, name_of(service))},
                                    {"pullPolicy", "IfNotPresent"}}));
  }
  const std::int64_t shared = std::min(kSharedMemoryMib, share_of(service, pool).memory_mib / 4);
  return Value::list({
      std::move(models),
      Value::map({{"name", "scratch"}, {"emptyDir", Value::map()}}),
      Value::map(
          {{"name", "shm"}, {"emptyDir", Value::map({{"medium", "Memory"}, {"sizeLimit", memory_text(shared)}})}}),
  });
}

Value spread_over(const model::ServiceSpec& service, std::string_view label) {
  return Value::map({{"maxSkew", 1},
                     {"topologyKey", label},
                     {"whenUnsatisfiable", "ScheduleAnyway"},
                     {"labelSelector", Value::map({{"matchLabels", kube_services::service_labels(service)}})}});
}

Value pod_of(const RenderInput& input, const model::ServiceSpec& service, const PoolPlan& pool) {
  Value pod = Value::map({{"serviceAccountName", name_of(service)}, {"automountServiceAccountToken", false}});
  const std::string priority = kube_services::priority_of(input, service);
  if (!priority.empty()) pod.set("priorityClassName", priority);
  if (input.plan.in_slurm(pool) && !input.plan.pod_scheduler().empty()) {
    pod.set("schedulerName", input.plan.pod_scheduler());
  }
  pod.set("nodeSelector", Value::map({{std::string(kPoolLabel), kube_services::label_value(pool.name())}}));
  Value tolerations = kube_services::tolerations_of(pool);
  if (!tolerations.empty()) pod.set("tolerations", std::move(tolerations));
  pod.set("topologySpreadConstraints",
          Value::list({spread_over(service, kube_services::kHostLabel), spread_over(service, kRackLabel)}));
  // In-flight requests finish before the pod stops.
  pod.set("terminationGracePeriodSeconds", kube_services::whole_seconds(service.timeout.value) + 2 * kLeaveSeconds);
  pod.set("securityContext", Value::map({{"runAsNonRoot", true},
                                         {"runAsUser", kUser},
                                         {"runAsGroup", kUser},
                                         {"fsGroup", kUser},
                                         {"fsGroupChangePolicy", "OnRootMismatch"},
                                         {"seccompProfile", Value::map({{"type", "RuntimeDefault"}})}}));
  pod.set("containers", Value::list({container_of(service, pool)}));
  pod.set("volumes", volumes_of(input, service, pool));
  return pod;
}

Value labeled(std::string_view api, std::string_view kind, const model::ServiceSpec& service) {
  Value out = object(api, kind, name_of(service), space_of(service));
  out["metadata"]["labels"].set(kServiceLabel, name_of(service));
  return out;
}

Value deployment(const RenderInput& input, const model::ServiceSpec& service, const PoolPlan& pool) {
  Value out = labeled("apps/v1", "Deployment", service);
  Value rolling = Value::map({{"maxSurge", 1}, {"maxUnavailable", service.min_replicas.value > 1 ? 1 : 0}});
  // No `replicas`: the autoscaler owns it, and a value here would reset it at every apply.
  out["spec"] = Value::map({
      {"selector", Value::map({{"matchLabels", kube_services::service_labels(service)}})},
      {"strategy", Value::map({{"type", "RollingUpdate"}, {"rollingUpdate", std::move(rolling)}})},
      {"progressDeadlineSeconds", kStartupSeconds + 600},
      {"template", Value::map({{"metadata", Value::map({{"labels", kube_services::service_labels(service)}})},
                               {"spec", pod_of(input, service, pool)}})},
  });
  return out;
}

// Every node answers only for its own replicas, so that an external proxy sees which nodes have any.
Value service_object(const model::ServiceSpec& service, std::size_t number) {
  const std::int64_t outside = kube_services::node_port(number);
  Value port = Value::map({{"name", "http"},
                           {"protocol", "TCP"},
                           {"appProtocol", "http"},
                           {"port", service.port.value},
                           {"targetPort", "http"}});
  Value out = labeled("v1", "Service", service);
  out["spec"] = Value::map({{"type", outside == 0 ? "ClusterIP" : "NodePort"}});
  if (outside != 0) {
    port.set("nodePort", outside);
    out["spec"].set("externalTrafficPolicy", "Local");
  }
  out["spec"].set("selector", kube_services::service_labels(service));
  out["spec"].set("ports", Value::list({std::move(port)}));
  return out;
}

Value account(const model::ServiceSpec& service) {
  return labeled("v1", "ServiceAccount", service).set("automountServiceAccountToken", false);
}

// GPU utilization as DCGM reports it: percent of a whole GPU; for a MIG instance the share of time its engine is
// active, 0 to 1, since the utilization counter does not cover instances. AMD's exporter reports percent.
constexpr std::string_view kAmdActivity = "gpu_gfx_activity";
std::string_view metric_of(const model::ServiceSpec& service, const PoolPlan& pool) {
  if (!kube_services::is_nvidia(pool)) return kAmdActivity;
  return service.mig.has_value() ? "DCGM_FI_PROF_GR_ENGINE_ACTIVE" : "DCGM_FI_DEV_GPU_UTIL";
}

Value scaling(std::int64_t window, std::int64_t pods, std::int64_t period) {
  return Value::map(
      {{"stabilizationWindowSeconds", window},
       {"policies", Value::list({Value::map({{"type", "Pods"}, {"value", pods}, {"periodSeconds", period}})})}});
}

Value scaler(const model::ServiceSpec& service, const PoolPlan& pool) {
  const std::int64_t percent = service.target_percent.value;
  const std::string target = service.mig.has_value() ? fmt::format("{}m", percent * 10) : std::to_string(percent);
  Value out = labeled("autoscaling/v2", "HorizontalPodAutoscaler", service);
  Value metric = Value::map(
      {{"type", "Pods"},
       {"pods", Value::map({{"metric", Value::map({{"name", metric_of(service, pool)}})},
                            {"target", Value::map({{"type", "AverageValue"}, {"averageValue", target}})}})}});
  out["spec"] = Value::map({
      {"scaleTargetRef", Value::map({{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", name_of(service)}})},
      {"minReplicas", service.min_replicas.value},
      {"maxReplicas", service.max_replicas.value},
      {"metrics", Value::list({std::move(metric)})},
      // Scale up fast, down slowly: a replica takes minutes to load its weights.
      {"behavior", Value::map({{"scaleUp", scaling(60, 2, 60)}, {"scaleDown", scaling(300, 1, 120)}})},
  });
  return out;
}

Value budget(const model::ServiceSpec& service) {
  Value out = labeled("policy/v1", "PodDisruptionBudget", service);
  out["spec"] = Value::map({{"minAvailable", service.min_available.value},
                            {"unhealthyPodEvictionPolicy", "AlwaysAllow"},
                            {"selector", Value::map({{"matchLabels", kube_services::service_labels(service)}})}});
  return out;
}

Value monitor(const model::ServiceSpec& service) {
  Value out = labeled("monitoring.coreos.com/v1", "ServiceMonitor", service);
  out["spec"] = Value::map(
      {{"selector", Value::map({{"matchLabels", kube_services::service_labels(service)}})},
       {"endpoints", Value::list({Value::map({{"port", "http"}, {"path", "/metrics"}, {"interval", "15s"}})})}});
  return out;
}

// prometheus-adapter: the series that the autoscalers query, by the pod that uses the GPU or instance. The exporter's
// own labels `namespace` and `pod` arrive as exported_* beside those of the exporter itself.
Value adapter_rule(std::string_view series) {
  return Value::map({
      {"seriesQuery", fmt::format("{}{{exported_namespace!=\"\",exported_pod!=\"\"}}", series)},
      {"resources",
       Value::map({{"overrides", Value::map({{"exported_namespace", Value::map({{"resource", "namespace"}})},
                                             {"exported_pod", Value::map({{"resource", "pod"}})}})}})},
      {"name", Value::map({{"as", series}})},
      {"metricsQuery", "avg by (<<.GroupBy>>) (<<.Series>>{<<.LabelMatchers>>})"},
  });
}

Value adapter_config(const RenderInput& input) {
  std::set<std::string_view> series;
  for (const model::ServiceSpec& service : input.cluster.spec().services.value) {
    if (const PoolPlan* pool = input.plan.pool(service.pool.value)) series.insert(metric_of(service, *pool));
  }
  Value rules = Value::list();
  for (const std::string_view one : series) rules.add(adapter_rule(one));
  Value out = object("v1", "ConfigMap", "prometheus-adapter", std::string(kMonitoringSpace));
  out["data"] = Value::map({{"config.yaml", write_yaml(Value::map({{"rules", std::move(rules)}}))}});
  return out;
}

void render_service(const RenderInput& input, std::size_t number, FileSink& sink) {
  const model::ServiceSpec& service = input.cluster.spec().services.value[number];
  if (!kube_services::has_own_name(input, number)) {
    sink.left_out(
        fmt::format("service `{}` is not rendered: its Kubernetes name is the same as that of another service",
                    service.name->text));
    return;
  }
  const PoolPlan* pool = input.plan.pool(service.pool.value);
  if (pool == nullptr || !input.plan.in_kubernetes(*pool)) {
    sink.left_out(fmt::format("service `{}` is not rendered: pool `{}` is not in Kubernetes", service.name->text,
                              service.pool.value));
    return;
  }
  add_manifest(input, sink,
               {.path = fmt::format("{}20-{}.yaml", kFolder, name_of(service)),
                .what = fmt::format("The service {}, behind {}.", service.name->text, service.host.value),
                .consumer = "Kubernetes",
                .documents = {account(service), deployment(input, service, *pool), service_object(service, number),
                              scaler(service, *pool), budget(service), monitor(service)},
                .stage = Stage::workloads,
                .risk = Risk::reload,
                .sources = {"services." + service.name->text, "pools." + pool->name()}});
}

}  // namespace

bool applies_kube_inference(const RenderInput& input) {
  return input.plan.has_kubernetes() && !input.cluster.spec().services->empty();
}

void render_kube_inference(const RenderInput& input, FileSink& sink) {
  add_manifest(input, sink,
               {.path = std::string(kFolder) + "10-metrics.yaml",
                .what = "Rules of prometheus-adapter: GPU utilization of pods, for the autoscalers of the services.",
                .consumer = "prometheus-adapter",
                .documents = {adapter_config(input)},
                .risk = Risk::reload,
                .sources = {"services"}});
  for (std::size_t i = 0; i < input.cluster.spec().services->size(); ++i) render_service(input, i, sink);
}

}  // namespace weft::render
