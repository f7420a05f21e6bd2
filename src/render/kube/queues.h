// Kueue's objects where Kubernetes hands out the GPUs: the topology of the backend, a flavor for each pool, a queue for
// each tenant. Part of the target kubernetes/scheduling.
#pragma once

#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render::kube_queues {

// Whether Kueue decides who runs: Kubernetes owns the GPUs.
[[nodiscard]] bool applies(const RenderInput& input);
[[nodiscard]] std::vector<Value> topologies_and_flavors(const RenderInput& input);
[[nodiscard]] std::vector<Value> queues(const RenderInput& input);

}  // namespace weft::render::kube_queues
