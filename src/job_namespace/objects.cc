#include "job_namespace/objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "kube/json_fields.h"
#include "world/kube/kube_leases.h"

namespace weft::job_namespace {
namespace {

constexpr std::string_view kLabelPrefix = "slurm-job.weft/";

Value metadata(const NamespacePlan& plan, const char* name = kObjectName) {
  return Value::map({{"name", Value(name)}, {"namespace", Value(plan.name)}});
}

std::string mebibytes(std::int64_t amount) { return fmt::format("{}Mi", amount); }

}  // namespace

std::string node_label(const std::string& key) { return std::string(kLabelPrefix) + key; }

std::string key_of_label(const std::string& label) {
  return label.starts_with(kLabelPrefix) ? label.substr(kLabelPrefix.size()) : std::string();
}

Value namespace_object(const NamespacePlan& plan, const ObjectOptions& options) {
  const Value toleration =
      Value::map({{"key", Value(world::kLeaseTaint)}, {"operator", Value("Exists")}, {"effect", Value("NoSchedule")}});
  const Value labels = Value::map({{kInstanceLabel, Value(options.instance)},
                                   {kJobLabel, Value(std::to_string(plan.job))},
                                   {kKeyLabel, Value(plan.key)},
                                   {"pod-security.kubernetes.io/enforce", Value(options.pod_security)}});
  const Value annotations = Value::map(
      {{"scheduler.alpha.kubernetes.io/node-selector",
        Value(fmt::format("{}={}", node_label(plan.key), options.instance))},
       {"scheduler.alpha.kubernetes.io/defaultTolerations", Value(write_json_line(Value::list({toleration})))},
       {kNodesAnnotation, Value(fold_hosts(plan.nodes))}});
  return Value::map(
      {{"metadata", Value::map({{"name", Value(plan.name)}, {"labels", labels}, {"annotations", annotations}})}});
}

Value quota_object(const NamespacePlan& plan, const ObjectOptions& options) {
  // A service with a port on every node of the cluster outlives no job, but others would meet it.
  Value hard = Value::map({{"requests." + options.gpu_resource, Value(std::to_string(plan.gpus))},
                           {"services.nodeports", Value("0")},
                           {"services.loadbalancers", Value("0")}});
  if (!plan.whole_nodes) {
    for (const char* kind : {"requests", "limits"}) {
      hard.set(fmt::format("{}.cpu", kind), Value(std::to_string(plan.cpus)));
      hard.set(fmt::format("{}.memory", kind), Value(mebibytes(plan.memory_mib)));
    }
  }
  return Value::map({{"metadata", metadata(plan)}, {"spec", Value::map({{"hard", hard}})}});
}

bool is_enforced(const Value& quota, const ObjectOptions& options) {
  return !kube::raw_text(quota, {"status", "hard", "requests." + options.gpu_resource}).empty() &&
         !kube::raw_text(quota, {"status", "used", "requests." + options.gpu_resource}).empty();
}

Value limit_range_object(const NamespacePlan& plan) {
  constexpr std::int64_t kDefaultMemory = 1024;
  const Value amounts =
      Value::map({{"cpu", Value("1")}, {"memory", Value(mebibytes(std::min(kDefaultMemory, plan.memory_mib)))}});
  const Value limit = Value::map({{"type", Value("Container")}, {"default", amounts}, {"defaultRequest", amounts}});
  return Value::map({{"metadata", metadata(plan)}, {"spec", Value::map({{"limits", Value::list({limit})}})}});
}

Value network_policy_object(const NamespacePlan& plan) {
  const Value all = Value::map();
  const Value rule = Value::map({{"from", Value::list({Value::map({{"podSelector", all}})})}});
  return Value::map({{"metadata", metadata(plan)},
                     {"spec", Value::map({{"podSelector", all},
                                          {"policyTypes", Value::list({Value("Ingress")})},
                                          {"ingress", Value::list({rule})}})}});
}

Value service_account_object(const NamespacePlan& plan) { return Value::map({{"metadata", metadata(plan)}}); }

Value role_binding_object(const NamespacePlan& plan) {
  const Value subject =
      Value::map({{"kind", Value("ServiceAccount")}, {"name", Value(kObjectName)}, {"namespace", Value(plan.name)}});
  return Value::map({{"metadata", metadata(plan)},
                     {"roleRef", Value::map({{"apiGroup", Value("rbac.authorization.k8s.io")},
                                             {"kind", Value("ClusterRole")},
                                             {"name", Value("edit")}})},
                     {"subjects", Value::list({subject})}});
}

Value probe_pod(const NamespacePlan& plan) {
  const Value container = Value::map(
      {{"name", Value("probe")},
       {"image", Value("probe")},
       {"resources", Value::map({{"requests", Value::map({{"cpu", Value("1m")}, {"memory", Value("1Mi")}})},
                                 {"limits", Value::map({{"cpu", Value("1m")}, {"memory", Value("1Mi")}})}})}});
  return Value::map({{"metadata", metadata(plan, "weft-probe")},
                     {"spec", Value::map({{"automountServiceAccountToken", Value(false)},
                                          {"serviceAccountName", Value(kObjectName)},
                                          {"containers", Value::list({container})}})}});
}

bool is_kept_on_nodes(const Value& probed, const NamespacePlan& plan, const ObjectOptions& options) {
  const Value* selector = kube::member(probed, {"spec", "nodeSelector"});
  if (selector == nullptr || !selector->is_map()) return false;
  const auto& entries = selector->entries();
  return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.key == node_label(plan.key) && entry.value.is_text() && entry.value.text() == options.instance;
  });
}

bool tolerates_lease_taint(const Value& probed) {
  const auto tolerations = kube::list(probed, {"spec", "tolerations"});
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [](const Value& toleration) { return kube::raw_text(toleration, {"key"}) == world::kLeaseTaint; });
}

}  // namespace weft::job_namespace
