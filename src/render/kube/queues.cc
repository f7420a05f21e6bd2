#include "render/kube/queues.h"

#include <algorithm>
#include <map>
#include <string>

#include "render/kube/services.h"

namespace weft::render::kube_queues {
namespace {

using kube_services::label_name;
using kube_services::object;
using kube_services::TenantSpace;

constexpr std::string_view kApi = "kueue.x-k8s.io/v1beta2";  // the version that Kueue stores
constexpr std::string_view kBackend = "backend";             // topology of pools on the backend
constexpr std::string_view kRacks = "racks";                 // topology of other pools
constexpr std::string_view kQueue = "default";               // assigned by Kueue to jobs without a queue
constexpr std::size_t kMaxResources = 64;                    // of one resource group, by the schema

bool on_backend(const model::Cluster& cluster, const PoolPlan& pool) {
  return cluster.device(pool.group->first).unit != model::kNone<model::UnitId>;
}

std::vector<const PoolPlan*> flavored(const RenderInput& input) {
  std::vector<const PoolPlan*> pools;
  for (const PoolPlan& pool : input.plan.pools()) {
    if (pool.has_gpus() && input.plan.in_kubernetes(pool)) pools.push_back(&pool);
  }
  return pools;
}

Value topology(std::string_view name, std::initializer_list<std::string_view> labels) {
  Value levels = Value::list();
  for (const std::string_view label : labels) levels.add(Value::map({{"nodeLabel", label}}));
  Value out = object(kApi, "Topology", std::string(name));
  out["spec"] = Value::map({{"levels", std::move(levels)}});
  return out;
}

Value flavor(const RenderInput& input, const PoolPlan& pool) {
  Value out = object(kApi, "ResourceFlavor", label_name(pool.name()));
  Value labels = Value::map({{std::string(kPoolLabel), kube_services::label_value(pool.name())}});
  out["spec"] = Value::map(
      {{"nodeLabels", std::move(labels)}, {"topologyName", on_backend(input.cluster, pool) ? kBackend : kRacks}});
  Value taints = Value::list();
  for (const auto& taint : kube_services::taints_of(pool)) {
    Value one = Value::map({{"key", taint.key}});
    if (!taint.value.empty()) one.set("value", taint.value);
    taints.add(std::move(one.set("effect", taint.effect)));
  }
  // Kueue admits a workload to a flavor only if it tolerates the flavor's taints.
  if (!taints.empty()) out["spec"].set("nodeTaints", std::move(taints));
  return out;
}

// Total resources of the pool's servers.
using Amounts = std::map<std::string, std::int64_t>;

Amounts stock_of(const PoolPlan& pool) {
  Amounts stock;
  const std::int64_t servers = pool.group->count;
  const std::int64_t gpus = pool.server->gpus.value * servers;
  stock["cpu"] = pool.server->cores.value * servers;
  stock["memory"] = (pool.server->memory.value * servers).count();
  // There are none with MIG, but the namespace's LimitRange makes every container request an amount of them.
  stock[kube_services::gpu_resource(pool)] = pool.spec->mig->empty() ? gpus * pool.spec->time_slices.value : 0;
  for (const auto& [profile, count] : pool.spec->mig.value) {
    stock[kube_services::mig_resource(profile)] = count.value * gpus * pool.spec->time_slices.value;
  }
  for (const RailPlan& rail : pool.rails) {
    stock[std::string(kResourcePrefix) + rail.resource] = pool.virtual_functions * servers;
  }
  return stock;
}

// The tenant's limits; a resource that the file does not limit is omitted.
Amounts bounds_of(const TenantSpace& space) {
  Amounts bounds;
  const model::QuotaSpec& quota = space.tenant->quota.value;
  for (const PoolPlan* pool : space.pools) {
    if (quota.gpus.has_value()) bounds[kube_services::gpu_resource(*pool)] = quota.gpus.value;
  }
  if (quota.cpus.has_value()) bounds["cpu"] = quota.cpus.value;
  if (quota.memory.has_value()) bounds["memory"] = quota.memory->count();
  for (const auto& [profile, count] : quota.mig.value) bounds[kube_services::mig_resource(profile)] = count.value;
  return bounds;
}

std::vector<std::string> covered(const TenantSpace& space) {
  std::vector<std::string> names{"cpu", "memory"};
  for (const PoolPlan* pool : space.pools) {
    for (const auto& [name, amount] : stock_of(*pool)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  names.resize(std::min(names.size(), kMaxResources));
  return names;
}

Value amount_text(const std::string& resource, std::int64_t amount) {
  return resource == "memory" ? kube_services::quantity(Bytes(amount)) : std::to_string(amount);
}

// The tenant's limits are distributed over its pools in order, each up to its capacity.
Value resource_group(const TenantSpace& space) {
  const std::vector<std::string> names = covered(space);
  Amounts left = bounds_of(space);
  Value flavors = Value::list();
  for (const PoolPlan* pool : space.pools) {
    const Amounts stock = stock_of(*pool);
    Value resources = Value::list();
    for (const std::string& name : names) {
      const auto there = stock.find(name);
      std::int64_t amount = there == stock.end() ? 0 : there->second;
      if (const auto bound = left.find(name); bound != left.end()) {
        amount = std::min(amount, bound->second);
        bound->second -= amount;
      }
      resources.add(Value::map({{"name", name}, {"nominalQuota", amount_text(name, amount)}}));
    }
    flavors.add(Value::map({{"name", label_name(pool->name())}, {"resources", std::move(resources)}}));
  }
  return Value::map({{"coveredResources", Value::texts(names)}, {"flavors", std::move(flavors)}});
}

Value cluster_queue(const RenderInput& input, const TenantSpace& space) {
  Value queue = object(kApi, "ClusterQueue", space.name);
  queue["spec"] = Value::map({
      {"cohortName", label_name(input.cluster.name())},
      {"queueingStrategy", "BestEffortFIFO"},
      {"namespaceSelector", kube_services::match_labels("kubernetes.io/metadata.name", space.name)},
      {"preemption", Value::map({{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}})},
      {"resourceGroups", Value::list({resource_group(space)})},
  });
  return queue;
}

Value local_queue(const TenantSpace& space, std::string_view name) {
  Value queue = object(kApi, "LocalQueue", std::string(name), space.name);
  queue["spec"] = Value::map({{"clusterQueue", space.name}});
  return queue;
}

Value workload_priority(const model::PrioritySpec& priority) {
  Value out = object(kApi, "WorkloadPriorityClass", label_name(priority.name->text));
  out.set("value", priority.value.value);
  out.set("description", "priority in Kueue's queues; the PriorityClass of the same name applies to pods");
  return out;
}

}  // namespace

bool applies(const RenderInput& input) {
  return input.plan.has_kubernetes() &&
         input.cluster.spec().control_plane->allocator.value == model::Allocator::kubernetes &&
         !flavored(input).empty();
}

std::vector<Value> topologies_and_flavors(const RenderInput& input) {
  const std::vector<const PoolPlan*> pools = flavored(input);
  const auto count =
      std::count_if(pools.begin(), pools.end(), [&](const PoolPlan* pool) { return on_backend(input.cluster, *pool); });
  std::vector<Value> out;
  if (count > 0) out.push_back(topology(kBackend, {kUnitLabel, kRackLabel, kube_services::kHostLabel}));
  if (count < static_cast<std::ptrdiff_t>(pools.size())) {
    out.push_back(topology(kRacks, {kRackLabel, kube_services::kHostLabel}));
  }
  for (const PoolPlan* pool : pools) out.push_back(flavor(input, *pool));
  return out;
}

std::vector<Value> queues(const RenderInput& input) {
  std::vector<Value> out;
  for (const model::PrioritySpec& priority : input.cluster.spec().priorities.value) {
    out.push_back(workload_priority(priority));
  }
  for (const TenantSpace& space : kube_services::tenant_spaces(input)) {
    if (space.tenant == nullptr || space.pools.empty()) continue;
    out.push_back(cluster_queue(input, space));
    // Job files name the tenant's queue; manually submitted jobs need not name any.
    out.push_back(local_queue(space, space.name));
    if (space.name != kQueue) out.push_back(local_queue(space, kQueue));
  }
  return out;
}

}  // namespace weft::render::kube_queues
