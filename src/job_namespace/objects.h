// Kubernetes objects of a job's namespace. Admission plug-ins of the API server enforce what the annotations of the
// namespace say: PodNodeSelector keeps its pods on the nodes of the job, PodTolerationRestriction lets them run there.
#pragma once

#include <string>

#include "base/value.h"
#include "job_namespace/plan.h"
#include "kube/resource.h"

namespace weft::job_namespace {

inline constexpr kube::Resource kQuotas{"", "v1", "resourcequotas", "ResourceQuota"};
inline constexpr kube::Resource kLimitRanges{"", "v1", "limitranges", "LimitRange"};
inline constexpr kube::Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};

inline constexpr const char* kInstanceLabel = "weft/instance";  // of the process that owns a namespace
inline constexpr const char* kJobLabel = "weft/slurm-job";
inline constexpr const char* kKeyLabel = "weft/slurm-run";
inline constexpr const char* kNodesAnnotation = "weft/nodes";
inline constexpr const char* kObjectName = "job";  // of everything in the namespace

struct ObjectOptions {
  std::string instance;
  std::string gpu_resource = "nvidia.com/gpu";
  std::string pod_security = "baseline";  // level of Pod Security Standards
};

// Label of a node for the run with this key; its value is the instance.
[[nodiscard]] std::string node_label(const std::string& key);
// Where it is such a label: the key.
[[nodiscard]] std::string key_of_label(const std::string& label);

[[nodiscard]] Value namespace_object(const NamespacePlan& plan, const ObjectOptions& options);
[[nodiscard]] Value quota_object(const NamespacePlan& plan, const ObjectOptions& options);
// Whether the server enforces it: before kube-controller-manager has filled in the status, pods are not counted.
[[nodiscard]] bool is_enforced(const Value& quota, const ObjectOptions& options);
// Defaults for containers that request nothing, which a quota of CPUs and memory would refuse.
[[nodiscard]] Value limit_range_object(const NamespacePlan& plan);
// Pods of other namespaces cannot connect to its pods.
[[nodiscard]] Value network_policy_object(const NamespacePlan& plan);
[[nodiscard]] Value service_account_object(const NamespacePlan& plan);
// The service account may do what ClusterRole `edit` allows, in this namespace.
[[nodiscard]] Value role_binding_object(const NamespacePlan& plan);
// A pod that is never created: the answer to a dry run shows which plug-ins are enabled.
[[nodiscard]] Value probe_pod(const NamespacePlan& plan);
[[nodiscard]] bool is_kept_on_nodes(const Value& probed, const NamespacePlan& plan, const ObjectOptions& options);
[[nodiscard]] bool tolerates_lease_taint(const Value& probed);

}  // namespace weft::job_namespace
