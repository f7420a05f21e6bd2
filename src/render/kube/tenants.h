// Objects in every tenant's namespace besides its pods: the namespace itself, quota, container limits, RBAC. Part of
// the target kubernetes/scheduling; network policies are in kube/policy.cc.
#pragma once

#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render::kube_tenants {

[[nodiscard]] std::vector<Value> namespaces(const RenderInput& input, FileSink& sink);
[[nodiscard]] std::vector<Value> quotas(const RenderInput& input);
[[nodiscard]] std::vector<Value> rights(const RenderInput& input);

}  // namespace weft::render::kube_tenants
