// kubernetes/scheduling: where pods may run, and in which order. Labels and taints of nodes, priority classes, tenants'
// namespaces with their quotas and RBAC (kube/tenants.cc), queues if Kubernetes owns the GPUs (kube/queues.cc).
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/host_range.h"
#include "render/core/targets.h"
#include "render/kube/queues.h"
#include "render/kube/services.h"
#include "render/kube/tenants.h"

namespace weft::render {
namespace {

using kube_services::add_manifest;
using kube_services::label_value;
using kube_services::object;

constexpr std::string_view kFolder = "kubernetes/scheduling/";
constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
constexpr std::size_t kFewAnnouncers = 2;

std::string zone_of(const model::Rack& rack) {
  return rack.row < 0 ? fmt::format("service-{}", -rack.row) : fmt::format("row-{}", rack.row + 1);
}

std::string unit_label(const model::Cluster& cluster, model::UnitId id) {
  const model::Unit& unit = cluster.units()[model::index_of(id)];
  const std::string pool =
      unit.pool < 0 ? "shared" : cluster.spec().pools.value[static_cast<std::size_t>(unit.pool)].name->text;
  return label_value(fmt::format("{}-u{:03}", pool, unit.index + 1));
}

std::string_view role_name(model::PoolRole role) {
  for (const auto& [name, value] : model::choices_of(role)) {
    if (value == role) return name;
  }
  return "worker";
}

// Nodes that announce service addresses: the infrastructure pools, or the first few nodes of the most suitable pool.
// Sessions from thousands of GPU servers would only load the leaves.
class Announcers {
 public:
  explicit Announcers(const RenderInput& input) {
    if (input.plan.frontend_peers().empty()) return;
    for (const model::PoolRole role : {model::PoolRole::infrastructure, model::PoolRole::cpu,
                                       model::PoolRole::inference, model::PoolRole::training}) {
      for (const PoolPlan& pool : input.plan.pools()) {
        if (pool.spec->role.value == role && input.plan.in_kubernetes(pool)) pools_.insert(&pool);
      }
      all_ = role == model::PoolRole::infrastructure;
      if (!pools_.empty()) break;
    }
    const std::int64_t replicas = input.cluster.spec().control_plane->ingress_replicas.value;
    few_ = std::max(kFewAnnouncers, static_cast<std::size_t>(std::max<std::int64_t>(0, replicas)));
  }
  [[nodiscard]] bool has(const PoolPlan& pool, std::uint32_t index) const {
    return pools_.count(&pool) > 0 && (all_ || index < few_);
  }

 private:
  std::set<const PoolPlan*> pools_;
  std::size_t few_ = 0;
  bool all_ = false;
};

// Labels from the file, without those that Kubernetes would reject; reports each of those once.
void add_labels(Value& labels, const model::NamedValues<std::string>& given, std::string_view where, FileSink& sink) {
  for (const auto& [key, value] : given) {
    if (kube_services::is_label_key(key) && kube_services::is_label_value(value.value)) {
      labels.set(key, value.value);
    } else {
      sink.left_out(fmt::format("label `{}` of {} is not a valid Kubernetes label; it is omitted", key, where));
    }
  }
}

Value pool_labels(const PoolPlan& pool, FileSink& sink) {
  Value labels = Value::map({{"app.kubernetes.io/managed-by", "weft"}});
  labels.set(fmt::format("node-role.kubernetes.io/{}", role_name(pool.spec->role.value)), "");
  labels.set(kPoolLabel, label_value(pool.name()));
  if (pool.has_gpus()) {
    labels.set("weft/gpu", label_value(pool.gpu_type));
    labels.set("weft/gpu-model", label_value(pool.gpu->id->text));
    labels.set("weft/gpu-memory", kube_services::quantity(pool.gpu->memory.value));
    labels.set("weft/gpus", std::to_string(pool.server->gpus.value));
  }
  add_labels(labels, pool.spec->labels.value, "pool " + pool.name(), sink);
  return labels;
}

Value taint_list(const PoolPlan& pool, FileSink& sink) {
  Value list = Value::list();
  for (const auto& taint : kube_services::taints_of(pool)) {
    Value one = Value::map({{"key", taint.key}});
    if (!taint.value.empty()) one.set("value", taint.value);
    list.add(std::move(one.set("effect", taint.effect)));
  }
  if (list.items().size() < pool.spec->taints->size()) {
    sink.left_out(fmt::format("a taint of pool {} is not a valid Kubernetes taint; it is omitted", pool.name()));
  }
  return list;
}

using Overrides = std::unordered_map<std::string, std::vector<const model::HostOverride*>>;

Overrides overrides_of(const PoolPlan& pool) {
  Overrides by_host;
  for (const model::HostOverride& override_spec : pool.spec->overrides.value) {
    const auto hosts = expand_hosts(override_spec.hosts.value);
    if (!hosts.ok()) continue;
    for (const std::string& host : hosts.value()) by_host[host].push_back(&override_spec);
  }
  return by_host;
}

// A Node for server-side apply: only the fields set here; the kubelet owns everything else.
Value node_object(const RenderInput& input, model::DeviceId id, Value labels, const Value& taints) {
  const model::Cluster& cluster = input.cluster;
  const model::Device& device = cluster.device(id);
  if (device.unit != model::kNone<model::UnitId>) labels.set(kUnitLabel, unit_label(cluster, device.unit));
  if (device.rack != model::kNone<model::RackId>) {
    const model::Rack& rack = cluster.rack(device.rack);
    labels.set(kRackLabel, label_value(rack.name));
    labels.set(kZoneLabel, zone_of(rack));
  }
  Value node = Value::map({{"apiVersion", "v1"},
                           {"kind", "Node"},
                           {"metadata", Value::map({{"name", kube_services::subdomain_name(cluster.name_of(id))},
                                                    {"labels", std::move(labels)}})}});
  if (!taints.empty()) node["spec"] = Value::map({{"taints", taints}});
  return node;
}

std::vector<Value> nodes_of(const RenderInput& input, const PoolPlan& pool, const Announcers& announcers,
                            FileSink& sink) {
  const Value common = pool_labels(pool, sink);
  const Value taints = taint_list(pool, sink);
  const Overrides overrides = overrides_of(pool);
  std::vector<Value> nodes;
  nodes.reserve(pool.group->count);
  for (std::uint32_t i = 0; i < pool.group->count; ++i) {
    const auto id = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
    Value labels = common;
    if (announcers.has(pool, i)) labels.set(kFabricLabel, "frontend");
    const std::string& host = input.cluster.name_of(id);
    if (const auto found = overrides.find(host); found != overrides.end()) {
      for (const model::HostOverride* one : found->second) add_labels(labels, one->labels.value, host, sink);
    }
    nodes.push_back(node_object(input, id, std::move(labels), taints));
  }
  return nodes;
}

bool evicts(const PoolPlan& pool) {
  const auto taints = kube_services::taints_of(pool);
  return std::any_of(taints.begin(), taints.end(), [](const auto& taint) { return taint.effect == "NoExecute"; });
}

Value priority_class(const model::PrioritySpec& priority) {
  // Values above 1,000,000,000 are reserved for the system.
  constexpr std::int64_t kMax = 1'000'000'000;
  Value out = object("scheduling.k8s.io/v1", "PriorityClass", kube_services::label_name(priority.name->text));
  out.set("value", std::clamp(priority.value.value, -kMax, kMax));
  out.set("globalDefault", false);
  return out;
}

// The lowest class waits until there is capacity; the others may preempt.
std::vector<Value> priority_classes(const RenderInput& input) {
  const std::vector<model::PrioritySpec>& priorities = input.cluster.spec().priorities.value;
  const auto lowest = std::min_element(priorities.begin(), priorities.end(),
                                       [](const auto& a, const auto& b) { return a.value.value < b.value.value; });
  std::vector<Value> out;
  for (const model::PrioritySpec& priority : priorities) {
    const bool last = priorities.size() > 1 && &priority == &*lowest;
    Value one = priority_class(priority);
    one.set("preemptionPolicy", last ? "Never" : "PreemptLowerPriority");
    one.set("description", priority.preemptible.value ? "preemptible by higher classes"
                                                      : "interactive services: above all preemptible work");
    out.push_back(std::move(one));
  }
  return out;
}

void render_nodes(const RenderInput& input, FileSink& sink) {
  const Announcers announcers(input);
  for (const PoolPlan& pool : input.plan.pools()) {
    if (!input.plan.in_kubernetes(pool)) continue;
    add_manifest(input, sink,
                 {.path = fmt::format("{}20-nodes-{}.yaml", kFolder, kube_services::label_name(pool.name())),
                  .what = fmt::format("Labels and taints of the nodes of pool {}. Taints are one field: taints set by "
                                      "others are\nreplaced, and the node controllers restore theirs.",
                                      pool.name()),
                  .consumer = "Kubernetes",
                  .documents = nodes_of(input, pool, announcers, sink),
                  .stage = Stage::hosts,
                  .risk = evicts(pool) ? Risk::traffic : Risk::none,
                  .sources = {"pools." + pool.name()},
                  .device = pool.name(),
                  .flags = " --force-conflicts --field-manager=weft"});
  }
}

}  // namespace

bool applies_kube_scheduling(const RenderInput& input) { return input.plan.has_kubernetes(); }

void render_kube_scheduling(const RenderInput& input, FileSink& sink) {
  const std::string folder(kFolder);
  add_manifest(input, sink,
               {.path = folder + "10-namespaces.yaml",
                .what = "Namespaces of tenants. Applied before the objects in them.",
                .consumer = "Kubernetes",
                .documents = kube_tenants::namespaces(input, sink),
                .stage = Stage::hosts,
                .sources = {"tenants", "services"}});
  render_nodes(input, sink);
  add_manifest(input, sink,
               {.path = folder + "30-priorities.yaml",
                .what = "Priority classes: interactive services, scheduled training, batch.",
                .consumer = "Kubernetes",
                .documents = priority_classes(input),
                .sources = {"priorities"}});
  add_manifest(input, sink,
               {.path = folder + "40-quotas.yaml",
                .what = "Resource quotas per tenant and limits per container.",
                .consumer = "Kubernetes",
                .documents = kube_tenants::quotas(input),
                .sources = {"tenants"}});
  add_manifest(input, sink,
               {.path = folder + "50-rights.yaml",
                .what = "RBAC roles of each tenant's users in its namespace.",
                .consumer = "Kubernetes",
                .documents = kube_tenants::rights(input),
                .sources = {"tenants", "security.sign_on"}});
  if (!kube_queues::applies(input)) return;
  add_manifest(input, sink,
               {.path = folder + "60-flavors.yaml",
                .what = "Kueue topology of the pools (backend units, racks, hosts), for topology-aware gang placement.",
                .consumer = "Kueue",
                .documents = kube_queues::topologies_and_flavors(input),
                .sources = {"pools", "control_plane.allocator"}});
  add_manifest(input, sink,
               {.path = folder + "70-queues.yaml",
                .what = "Kueue queues: one per tenant, lending idle quota to the others and reclaiming it.",
                .consumer = "Kueue",
                .documents = kube_queues::queues(input),
                .sources = {"tenants", "priorities"}});
}

}  // namespace weft::render
