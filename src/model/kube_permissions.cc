#include "model/kube_permissions.h"

#include <array>

namespace weft::model {
namespace {

constexpr std::string_view kCore;
constexpr std::string_view kCoordination = "coordination.k8s.io";

constexpr std::array<KubePermission, 18> kPermissions = {{
    {kCore, "nodes", "", "get", true, "read a node before its taints change"},
    {kCore, "nodes", "", "list", true, "see the nodes"},
    {kCore, "nodes", "", "patch", true, "taint nodes that are under repair"},
    {kCore, "nodes", "", "watch", true, "notice that a node fails"},
    {kCore, "pods", "", "create", false, "start jobs"},
    {kCore, "pods", "", "delete", false, "stop jobs"},
    {kCore, "pods", "", "get", false, "tell its own pods from others"},
    {kCore, "pods", "", "list", false, "find running jobs after a restart"},
    {kCore, "pods", "", "watch", false, "notice that a job ends"},
    {kCore, "pods", "binding", "create", false, "place pods on nodes"},
    {kCore, "pods", "log", "get", false, "show the output of jobs"},
    {kCore, "services", "", "create", false, "give rank 0 an address"},
    {kCore, "services", "", "delete", false, "remove what ended jobs leave"},
    {kCore, "services", "", "get", false, "tell its own services from others"},
    {kCore, "services", "", "list", false, "find what ended jobs leave"},
    {kCoordination, "leases", "", "create", false, "be the only weft that drives the namespace"},
    {kCoordination, "leases", "", "get", false, "be the only weft that drives the namespace"},
    {kCoordination, "leases", "", "update", false, "be the only weft that drives the namespace"},
}};

constexpr std::array<KubePermission, 1> kLeasePermissions = {{
    {kCore, "pods", "", "list", true, "see that no pod of any namespace uses the GPUs of a node that moves to Slurm"},
}};

}  // namespace

std::span<const KubePermission> kube_permissions() { return kPermissions; }
std::span<const KubePermission> kube_lease_permissions() { return kLeasePermissions; }

std::vector<KubePermission> kube_watch_permissions(bool all_namespaces, WatchAccess access) {
  std::vector<KubePermission> needed;
  const bool taints_nodes = access != WatchAccess::reads;
  for (KubePermission permission : kPermissions) {
    const bool reads = permission.verb == "list" || permission.verb == "watch";
    const bool of_nodes = permission.resource == "nodes";
    if (of_nodes ? !reads && !taints_nodes : permission.resource != "pods" || !reads) continue;
    if (!of_nodes) {
      permission.cluster_wide = all_namespaces;
      permission.use = "show the pods";
    }
    needed.push_back(permission);
  }
  if (access == WatchAccess::evicts) {
    needed.push_back({kCore, "pods", "", "get", all_namespaces, "tell on which node a pod runs before it is evicted"});
    needed.push_back({kCore, "pods", "eviction", "create", all_namespaces, "move pods away from nodes under repair"});
  }
  return needed;
}

}  // namespace weft::model
