// Workloads of Kubernetes for watch mode: pods grouped by the controller that owns them (a Job, a PyTorchJob, a
// ReplicaSet, ...), why their pods wait, and what a node's conditions and taints say about its health.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/value.h"
#include "control/event.h"
#include "world/core/observed.h"

namespace weft::world {

// `id` is "namespace/name" of the owner, or of a pod without one. Pods of DaemonSets and of nodes themselves are left
// out: they are part of the nodes. Objects that cannot be read are skipped.
[[nodiscard]] std::vector<ObservedJob> observe_pods(const std::vector<const Value*>& pods);
// Whether a pod can be moved away from its node: by deleting it, where its controller makes another.
enum class PodOwner : std::uint8_t {
  node,        // a DaemonSet, or the node itself: part of the node
  nothing,     // deleted, it is lost
  controller,  // makes another one
};
[[nodiscard]] PodOwner pod_owner(const Value& pod);
[[nodiscard]] bool has_ended(const Value& pod);
// With the GPUs that pods use there.
[[nodiscard]] std::vector<ObservedNode> observe_nodes(const std::vector<const Value*>& nodes,
                                                      const std::vector<const Value*>& pods);

// Fatal is what Kubernetes itself found: the node is unreachable, its kubelet says that it is not ready, its device
// plugin withdrew GPUs, or the node problem detector reports a kernel deadlock or a read-only file system. Healthy:
// nothing was found.
struct KubeFinding {
  control::Health health = control::Health::healthy;
  std::string signal;
  bool must_last = false;  // may pass by itself: counts only if it lasts
};
[[nodiscard]] KubeFinding judge_kube_node(const Value& node);

}  // namespace weft::world
