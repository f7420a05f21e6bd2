#include "render/kube/tenants.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "render/kube/services.h"

namespace weft::render::kube_tenants {
namespace {

using kube_services::object;
using kube_services::TenantSpace;

// Every MIG resource of any pool with kubelets.
std::set<std::string> mig_resources(const RenderInput& input) {
  std::set<std::string> names;
  for (const PoolPlan& pool : input.plan.pools()) {
    if (!input.plan.in_kubernetes(pool)) continue;
    for (const auto& [profile, count] : pool.spec->mig.value) names.insert(kube_services::mig_resource(profile));
  }
  return names;
}

// Whole GPUs under the resource names of the tenant's pools.
std::set<std::string> gpu_resources(const TenantSpace& space) {
  std::set<std::string> names;
  for (const PoolPlan* pool : space.pools) names.insert(kube_services::gpu_resource(*pool));
  if (names.empty()) names.insert(std::string(kResourcePrefix) + "gpu");
  return names;
}

std::int64_t asked_by_services(const RenderInput& input, const TenantSpace& space, std::string_view resource) {
  std::int64_t amount = 0;
  for (const model::ServiceSpec* service : space.services) {
    const PoolPlan* pool = input.plan.pool(service->pool.value);
    if (pool != nullptr && kube_services::resource_of(*service, *pool) == resource) {
      amount += kube_services::amount_of(*service) * service->max_replicas.value;
    }
  }
  return amount;
}

Value space_object(const TenantSpace& space) {
  Value out = object("v1", "Namespace", space.name);
  Value& labels = out["metadata"]["labels"];
  labels.set(kube_services::kTenantLabel,
             kube_services::label_value(space.tenant == nullptr ? space.name : space.tenant->name->text));
  if (!space.services.empty()) labels.set(kExposeLabel, "frontend");
  // RDMA needs the capability IPC_LOCK, which the baseline profile forbids. If pods have it, the Kyverno policy
  // tenant-pods enforces the rest of that profile.
  labels.set("pod-security.kubernetes.io/enforce", space.rdma ? "privileged" : "baseline");
  labels.set("pod-security.kubernetes.io/audit", space.rdma ? "baseline" : "restricted");
  labels.set("pod-security.kubernetes.io/warn", space.rdma ? "baseline" : "restricted");
  return out;
}

// GPUs of a tenant: as in the file, and zero for kinds that it does not name.
void gpu_bounds(const RenderInput& input, const TenantSpace& space, Value& hard) {
  const model::QuotaSpec* quota = space.tenant == nullptr ? nullptr : &space.tenant->quota.value;
  if (quota != nullptr && !quota->gpus.has_value() && quota->mig->empty()) return;  // the file does not limit GPUs
  const bool given = quota != nullptr && quota->gpus.has_value();
  for (const std::string& resource : gpu_resources(space)) {
    const std::int64_t most = given ? quota->gpus.value : asked_by_services(input, space, resource);
    hard.set("requests." + resource, std::to_string(most));
  }
  for (const std::string& resource : mig_resources(input)) {
    std::int64_t most = asked_by_services(input, space, resource);
    if (quota != nullptr) {
      for (const auto& [profile, count] : quota->mig.value) {
        if (kube_services::mig_resource(profile) == resource) most = count.value;
      }
    }
    hard.set("requests." + resource, std::to_string(most));
  }
}

Value quota_object(const RenderInput& input, const TenantSpace& space) {
  Value hard = Value::map();
  gpu_bounds(input, space, hard);
  if (space.tenant != nullptr) {
    const model::QuotaSpec& quota = space.tenant->quota.value;
    if (quota.cpus.has_value()) hard.set("requests.cpu", std::to_string(quota.cpus.value));
    if (quota.memory.has_value()) hard.set("requests.memory", kube_services::quantity(quota.memory.value));
    if (quota.storage.has_value()) hard.set("requests.storage", kube_services::quantity(quota.storage.value));
    if (quota.volume_claims.has_value()) {
      hard.set("persistentvolumeclaims", std::to_string(quota.volume_claims.value));
    }
  }
  // Frontend addresses are for the gateway; node ports for the services that the cluster file names.
  hard.set("services.loadbalancers", "0");
  hard.set("services.nodeports", std::to_string(space.services.size()));
  Value out = object("v1", "ResourceQuota", "share", space.name);
  out["spec"] = Value::map({{"hard", std::move(hard)}});
  return out;
}

Value bounds_object(const TenantSpace& space) {
  const std::int64_t most = space.tenant == nullptr ? 8 : space.tenant->gpus_per_container.value;
  Value bound = Value::map();
  Value fallback = Value::map({{"cpu", "2"}, {"memory", "8Gi"}});
  Value request = Value::map({{"cpu", "1"}, {"memory", "4Gi"}});
  std::set<std::string> resources = gpu_resources(space);
  for (const PoolPlan* pool : space.pools) {
    for (const auto& [profile, count] : pool->spec->mig.value) resources.insert(kube_services::mig_resource(profile));
  }
  for (const std::string& resource : resources) {
    bound.set(resource, std::to_string(most));
    // A limit without a default becomes the default of every container that requests none (the API server's
    // SetDefaults_LimitRangeItem): without these zeros each helper container would get GPUs.
    fallback.set(resource, "0");
    request.set(resource, "0");
  }
  Value out = object("v1", "LimitRange", "bounds", space.name);
  out["spec"] = Value::map({{"limits", Value::list({Value::map({{"type", "Container"},
                                                                {"max", std::move(bound)},
                                                                {"default", std::move(fallback)},
                                                                {"defaultRequest", std::move(request)}})})}});
  return out;
}

Value rule(std::initializer_list<Value> groups, std::initializer_list<Value> resources,
           std::initializer_list<Value> verbs) {
  return Value::map(
      {{"apiGroups", Value::list(groups)}, {"resources", Value::list(resources)}, {"verbs", Value::list(verbs)}});
}

// Permissions of a tenant's users in their namespace. Secrets come from the secret store, quotas and policies from
// here.
Value role_object(const TenantSpace& space) {
  const std::initializer_list<Value> all{"create", "delete", "get", "list", "patch", "update", "watch"};
  const std::initializer_list<Value> look{"get", "list", "watch"};
  Value role = object("rbac.authorization.k8s.io/v1", "Role", "tenant", space.name);
  role["rules"] = Value::list({
      rule({""}, {"configmaps", "persistentvolumeclaims", "pods", "services"}, all),
      rule({""}, {"events", "limitranges", "pods/log", "pods/status", "resourcequotas"}, look),
      rule({""}, {"pods/exec", "pods/portforward"}, {"create"}),
      rule({"apps"}, {"deployments", "statefulsets"}, all),
      rule({"batch"}, {"cronjobs", "jobs"}, all),
      rule({"kubeflow.org"}, {"mpijobs", "pytorchjobs"}, all),
      rule({"trainer.kubeflow.org"}, {"trainjobs"}, all),
      rule({"kueue.x-k8s.io"}, {"localqueues", "workloads"}, look),
      rule({"k8s.cni.cncf.io"}, {"network-attachment-definitions"}, look),
  });
  return role;
}

Value binding_object(const RenderInput& input, const TenantSpace& space) {
  const bool oidc = input.cluster.spec().security->sign_on.value == model::SignOn::oidc;
  const std::string group = (oidc ? "oidc:" : "") + space.tenant->name->text;
  Value binding = object("rbac.authorization.k8s.io/v1", "RoleBinding", "tenant", space.name);
  binding["roleRef"] = Value::map({{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "tenant"}});
  binding["subjects"] =
      Value::list({Value::map({{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Group"}, {"name", group}})});
  return binding;
}

}  // namespace

std::vector<Value> namespaces(const RenderInput& input, FileSink& sink) {
  std::vector<Value> out;
  std::set<std::string> seen;
  for (const model::TenantSpec& tenant : input.cluster.spec().tenants.value) {
    if (seen.insert(kube_services::label_name(tenant.name->text)).second) continue;
    sink.left_out(
        fmt::format("tenant `{}` has no namespace: its name differs from another tenant's only in characters that "
                    "Kubernetes does not allow",
                    tenant.name->text));
  }
  for (const TenantSpace& space : kube_services::tenant_spaces(input)) out.push_back(space_object(space));
  return out;
}

std::vector<Value> quotas(const RenderInput& input) {
  std::vector<Value> out;
  for (const TenantSpace& space : kube_services::tenant_spaces(input)) {
    out.push_back(quota_object(input, space));
    out.push_back(bounds_object(space));
  }
  return out;
}

std::vector<Value> rights(const RenderInput& input) {
  std::vector<Value> out;
  for (const TenantSpace& space : kube_services::tenant_spaces(input)) {
    if (space.tenant == nullptr) continue;
    out.push_back(role_object(space));
    out.push_back(binding_object(input, space));
  }
  return out;
}

}  // namespace weft::render::kube_tenants
