// Kinds of Kubernetes objects and where the API server keeps them: group, version, plural name, whether they are in a
// namespace; paths of objects and collections. Names from outside are checked before they become part of a path.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weft::kube {

struct Resource {
  std::string_view group;  // "": core
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = true;
};

inline constexpr Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr Resource kServices{"", "v1", "services", "Service"};
inline constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
inline constexpr Resource kEvents{"", "v1", "events", "Event"};
inline constexpr Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr Resource kJobs{"batch", "v1", "jobs", "Job"};
inline constexpr Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role"};
inline constexpr Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};
// Kubernetes 1.21 and newer have policy/v1; 1.25 and newer have nothing else.
inline constexpr Resource kDisruptionBudgetsV1{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};
inline constexpr Resource kDisruptionBudgetsV1Beta1{"policy", "v1beta1", "poddisruptionbudgets", "PodDisruptionBudget"};

// One object. `kube_namespace` is "" for kinds outside of namespaces.
struct ObjectName {
  std::string kube_namespace;
  std::string name;
  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;

  // "namespace/name" or "name".
  [[nodiscard]] std::string text() const { return kube_namespace.empty() ? name : kube_namespace + "/" + name; }
};

// "v1", "batch/v1": the value of `apiVersion`.
[[nodiscard]] std::string api_version(const Resource& resource);

// Whether the name can be a segment of a path: 1 to 253 characters, none of them '/' or '%', neither "." nor "..". The
// rules for each kind are stricter (RFC 1123) and are the server's.
[[nodiscard]] bool is_path_segment(std::string_view name);

using Query = std::vector<std::pair<std::string, std::string>>;

// Path of a collection: of one namespace, or of all if it is "".
[[nodiscard]] Result<std::string> collection_path(const Resource& resource, std::string_view kube_namespace);
// Path of an object; `subresource` such as "status" or "eviction", "" for none.
[[nodiscard]] Result<std::string> object_path(const Resource& resource, const ObjectName& object,
                                              std::string_view subresource = {});
// The path with a query; values are percent-encoded.
[[nodiscard]] std::string with_query(std::string path, const Query& query);

}  // namespace weft::kube
