// Shared by the Kubernetes targets for networks, GPUs and storage beyond kube/object.h: which namespaces may use which
// pools. Renders nothing itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"
#include "render/kube/object.h"

namespace weft::render::kube_platform {

// Shared with the other Kubernetes targets (kube/object.h), under the names that callers here use.
using kube::add_manifest;
using kube::gpu_pools;
using kube::label_name;
using kube::label_value;
using kube::object;
using kube::quantity;
using Manifest = kube::ManifestFile;

// A privileged namespace: for operators that load drivers.
[[nodiscard]] Value privileged_space(std::string_view name);
[[nodiscard]] Value pool_selector(const PoolPlan& pool);  // weft/pool: NAME
// Tolerations for every taint of these pools, by key only, without duplicates.
[[nodiscard]] Value tolerations_of(const std::vector<const PoolPlan*>& pools);

// A namespace that tenants' pods run in, and the GPU pools with kubelets that they run on. Without tenants there is
// only "default", whose networks Multus lets pods of every namespace attach.
struct Space {
  std::string name;
  const model::TenantSpec* tenant = nullptr;
  std::vector<const PoolPlan*> pools;
};
[[nodiscard]] std::vector<Space> spaces_of(const RenderInput& input);
[[nodiscard]] bool on_infiniband(const RenderInput& input, model::FabricKind fabric);

}  // namespace weft::render::kube_platform
