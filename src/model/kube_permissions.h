// Kubernetes permissions of `weft serve --engine kubernetes`: the verbs that it uses, and no others. The rendered roles
// grant exactly these, and the engine checks each of them before it starts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::model {

struct KubePermission {
  std::string_view group;     // "": core
  std::string_view resource;  // plural
  std::string_view subresource;
  std::string_view verb;
  bool cluster_wide = false;  // false: in the namespace of the jobs
  std::string_view use;       // what weft cannot do without it
};

// Those of one resource follow each other.
[[nodiscard]] std::span<const KubePermission> kube_permissions();

// What it needs besides if nodes are shared with Slurm.
[[nodiscard]] std::span<const KubePermission> kube_lease_permissions();

// What watch mode does, each with what the one before it does: it reads nodes and pods of all namespaces or of one;
// with quarantine enabled it taints nodes, with drain it evicts pods.
enum class WatchAccess : std::uint8_t { reads, taints, evicts };
[[nodiscard]] std::vector<KubePermission> kube_watch_permissions(bool all_namespaces, WatchAccess access);

}  // namespace weft::model
