// Queries on a cluster that many rules use.
#pragma once

#include <string>
#include <vector>

#include "check/core/check_input.h"

namespace weft::check {

[[nodiscard]] inline bool is_gpu_pool(const model::PoolSpec& pool) {
  return pool.role.value == model::PoolRole::training || pool.role.value == model::PoolRole::inference;
}
[[nodiscard]] inline const model::PoolSpec* find_pool(const model::Spec& spec, std::string_view name) {
  for (const model::PoolSpec& pool : spec.pools.value) {
    if (pool.name->text == name) return &pool;
  }
  return nullptr;
}
[[nodiscard]] inline const model::ServerModel* server_of(const model::Cluster& cluster, const model::PoolSpec& pool) {
  return cluster.catalog().server(pool.server.value);
}
[[nodiscard]] inline bool runs_kubernetes(const model::Spec& spec) {
  return spec.control_plane->kind.value != model::ControlKind::slurm;
}
[[nodiscard]] inline bool runs_slurm(const model::Spec& spec) {
  return spec.control_plane->kind.value != model::ControlKind::kubernetes;
}
[[nodiscard]] inline const model::PrioritySpec* find_priority(const model::Spec& spec,
                                                              const model::Sourced<std::string>& name) {
  for (const model::PrioritySpec& priority : spec.priorities.value) {
    if (name.has_value() && priority.name->text == name.value) return &priority;
  }
  return nullptr;
}
// MIG instances of a profile in all pools.
[[nodiscard]] std::int64_t mig_instances(const model::Cluster& cluster, std::string_view profile);
// GPUs of the pool, including those split by MIG.
[[nodiscard]] std::int64_t gpus_of(const model::Cluster& cluster, const model::PoolSpec& pool);

}  // namespace weft::check
