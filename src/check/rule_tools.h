// Small questions that many rules ask of a cluster.
#pragma once

#include <string>
#include <vector>

#include "check/check_input.h"

namespace weft {

[[nodiscard]] inline bool is_gpu_pool(const PoolSpec& pool) {
  return pool.role.value == PoolRole::training || pool.role.value == PoolRole::inference;
}
[[nodiscard]] inline const PoolSpec* find_pool(const Spec& spec, std::string_view name) {
  for (const PoolSpec& pool : spec.pools.value) {
    if (pool.name->text == name) return &pool;
  }
  return nullptr;
}
[[nodiscard]] inline const ServerModel* server_of(const Cluster& cluster, const PoolSpec& pool) {
  return cluster.catalog().server(pool.server.value);
}
[[nodiscard]] inline bool runs_kubernetes(const Spec& spec) {
  return spec.control_plane->kind.value != ControlKind::slurm;
}
[[nodiscard]] inline bool runs_slurm(const Spec& spec) {
  return spec.control_plane->kind.value != ControlKind::kubernetes;
}
[[nodiscard]] inline const PrioritySpec* find_priority(const Spec& spec, const Given<std::string>& name) {
  for (const PrioritySpec& priority : spec.priorities.value) {
    if (name.has_value() && priority.name->text == name.value) return &priority;
  }
  return nullptr;
}
// MIG instances of a profile in all pools together.
[[nodiscard]] std::int64_t mig_instances(const Cluster& cluster, std::string_view profile);
// GPUs of the pool that are handed out whole.
[[nodiscard]] std::int64_t gpus_of(const Cluster& cluster, const PoolSpec& pool);

}  // namespace weft
